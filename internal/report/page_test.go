package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/overhead"
)

const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"

// hostileResult bears markup and control characters wherever words come from outside.
func hostileResult(t *testing.T) *overhead.Result {
	r := synthetic(t)
	r.Run, r.Title, r.Question, r.Baseline, r.Method, r.Image = hostile, hostile, hostile, hostile, hostile, hostile
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Name, c.Title, c.Answer, c.Workload = hostile, hostile, hostile, hostile
		for j := range c.Rows {
			row := &c.Rows[j]
			row.Platform, row.Label, row.Reproduce, row.Warnings = hostile, hostile, hostile, []string{hostile}
			row.Metric.Unit = hostile
			if row.Effect != nil {
				row.Effect.Words, row.Effect.Why, row.Effect.Caution = hostile, hostile, hostile
			}
			for k := range row.Points {
				row.Points[k].Trial = hostile
			}
		}
		for j := range c.Usage {
			c.Usage[j].Platform, c.Usage[j].Notes = hostile, []string{hostile}
			c.Usage[j].Parts, c.Usage[j].RestParts = map[string]float64{hostile: 1}, map[string]float64{hostile: 1}
		}
	}
	for i := range r.Failures {
		r.Failures[i].Error, r.Failures[i].Hint, r.Failures[i].Log = hostile, hostile, hostile
	}
	for i := range r.Series.Lines {
		r.Series.Lines[i].Name = hostile
	}
	r.Skipped = []bench.Skip{{Platform: hostile, Reason: hostile, Hint: hostile}, {Platform: hostile, Reason: strings.Repeat(hostile, 9)}}
	r.Warnings = []string{hostile}
	r.HostFacts = []overhead.Fact{{Name: hostile, Value: hostile, Caveat: hostile}}
	return r
}

func TestMarkupFromOutsideStaysText(t *testing.T) {
	r := hostileResult(t)
	page := renderHTML(t, r)
	for _, bad := range []string{"<script", "<img", "\"'>"} {
		if strings.Contains(page, bad) {
			i := strings.Index(page, bad)
			t.Errorf("%q came through: %s", bad, page[max(0, i-120):i+40])
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the text itself is gone")
	}
	var b bytes.Buffer
	if err := Text(&b, r, true); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("an escape sequence reached the terminal")
	}
}

var (
	ids   = regexp.MustCompile(`\bid="([^"]*)"`)
	links = regexp.MustCompile(`\bhref="([^"]*)"`)
	loads = regexp.MustCompile(`(?i)\b(src|srcset|action|data|poster)=|@import|url\(|https?://|<link|<script`)
)

func TestPageStandsAlone(t *testing.T) {
	for name, r := range map[string]*overhead.Result{"synthetic": synthetic(t), "hostile": hostileResult(t)} {
		page := renderHTML(t, r)
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] || !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(m[1]) {
				t.Errorf("%s: id %q is not unique or not plain", name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(m[1], "#") || !seen[m[1][1:]] {
				t.Errorf("%s: link to %q leads nowhere in the page", name, m[1])
			}
		}
		if name == "synthetic" {
			if m := loads.FindString(page); m != "" {
				t.Errorf("the page asks for something outside: %q", m)
			}
		}
	}
}

func TestLongReasonsAreFoldedAway(t *testing.T) {
	page := renderHTML(t, synthetic(t))
	_, rest, ok := strings.Cut(page, "<summary>Left out: kvm</summary>")
	if !ok || !strings.HasPrefix(rest, "<p>kvm: a trial boot failed") {
		t.Error("the long reason is not behind a fold")
	}
	if !strings.Contains(page, "Left out: <b>firecracker</b>: /dev/kvm is missing") {
		t.Error("the short reason is not in sight")
	}
}

func TestNotesAreSaidOnceWithWhomTheyConcern(t *testing.T) {
	row := func(metric, platform, why string, warnings ...string) overhead.Row {
		return overhead.Row{Metric: bench.Metric{Name: metric}, Platform: platform,
			Effect: &overhead.Effect{Verdict: overhead.Refused, Why: why}, Warnings: warnings}
	}
	got := notesOf([]overhead.Row{
		row("a", "lxc", "few", "late"), row("a", "docker", "few"), row("b", "lxc", "few", "late"), row("b", "docker", "few", "odd"),
	})
	want := []note{{"all platforms", "few"}, {"lxc", "late"}, {"docker (b)", "odd"}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("note %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

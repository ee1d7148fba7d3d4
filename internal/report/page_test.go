package report

import (
	"bytes"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"

// hostileResult bears markup and control characters wherever words come from outside.
func hostileResult(t *testing.T) *result.Result {
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
			c.Usage[j].Parts, c.Usage[j].OtherParts = map[string]float64{hostile: 1}, map[string]float64{hostile: 1}
		}
	}
	for i := range r.Failures {
		r.Failures[i].Error, r.Failures[i].Hint, r.Failures[i].Log = hostile, hostile, hostile
	}
	for i := range r.Series.Lines {
		r.Series.Lines[i].Name, r.Series.Lines[i].Level = hostile, hostile
	}
	r.Skipped = []bench.Skip{{Platform: hostile, Reason: hostile, Hint: hostile}, {Platform: hostile, Reason: strings.Repeat(hostile, 9)}}
	r.Warnings = []string{hostile}
	r.HostFacts = []result.Fact{{Name: hostile, Value: hostile, Caveat: hostile}}
	return r
}

// everyText makes each text that can be set hostile, keys of maps among them, so
// that none is forgotten.
func everyText(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			everyText(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			everyText(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			everyText(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
			k := reflect.New(v.Type().Key()).Elem()
			k.Set(key)
			everyText(k)
			everyText(value)
			v.SetMapIndex(k, value)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(hostile)
		}
	}
}

func TestMarkupFromOutsideStaysText(t *testing.T) {
	every := withPower(synthetic(t))
	everyText(reflect.ValueOf(every))
	for name, r := range map[string]*result.Result{"where it is shown": hostileResult(t), "every text": every} {
		page := renderHTML(t, r)
		for _, bad := range []string{"<script", "<img", "\"'>"} {
			if i := strings.Index(page, bad); i >= 0 {
				t.Errorf("%s: %q came through: %s", name, bad, page[max(0, i-120):i+40])
			}
		}
		if !strings.Contains(page, "&lt;script&gt;alert(1)") {
			t.Errorf("%s: the text itself is gone", name)
		}
		for format, write := range map[string]func(io.Writer, *result.Result) error{
			"text": Text, "gobench": GoBench, "junit": JUnit,
		} {
			var b bytes.Buffer
			if err := write(&b, r); err != nil {
				t.Fatalf("%s, %s: %v", name, format, err)
			}
			if strings.ContainsRune(b.String(), '\x1b') {
				t.Errorf("%s, %s: an escape sequence reached the terminal", name, format)
			}
		}
	}
}

// No page has a script of its own, and each tells the browser to run none.
func TestPageAllowsNoScript(t *testing.T) {
	var forms bytes.Buffer
	if err := FormsHTML(&forms, Forms{}); err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"report": renderHTML(t, synthetic(t)), "forms": forms.String()} {
		policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatchIndex(page)
		if policy == nil {
			t.Errorf("%s: it has no policy", name)
			continue
		}
		said := strings.Split(page[policy[2]:policy[3]], "; ")
		if !slices.Contains(said, "default-src 'none'") || strings.Contains(page[policy[2]:policy[3]], "script") {
			t.Errorf("%s: the policy %q lets scripts run", name, said)
		}
		if before := strings.Index(page, "<title>"); policy[0] > before {
			t.Errorf("%s: something stands before the policy", name)
		}
		if m := regexp.MustCompile(`(?i)<script|\son[a-z]+=|javascript:`).FindString(page); m != "" {
			t.Errorf("%s: it has %q in it", name, m)
		}
	}
}

var (
	ids   = regexp.MustCompile(`\bid="([^"]*)"`)
	links = regexp.MustCompile(`\bhref="([^"]*)"`)
	loads = regexp.MustCompile(`(?i)\b(src|srcset|action|data|poster)=|@import|url\(|https?://|<link|<script`)
)

func TestPageStandsAlone(t *testing.T) {
	for name, r := range map[string]*result.Result{"synthetic": synthetic(t), "hostile": hostileResult(t)} {
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
	row := func(metric, platform, why string, warnings ...string) result.Row {
		return result.Row{Metric: bench.Metric{Name: metric}, Platform: platform,
			Effect: &result.Effect{Verdict: result.Refused, Why: why}, Warnings: warnings}
	}
	got := notesOf([]result.Row{
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

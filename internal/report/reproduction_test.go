package report

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"tare/internal/analysis/claims"
	"tare/internal/bench"
	"tare/internal/papers"
)

// reproduced is made up: a paper with every kind of exhibit and of verdict.
func reproduced() *claims.Document {
	p := func(v float64) *float64 { return &v }
	triad := bench.Metric{Name: "triad", Unit: "MB/s", Better: bench.HigherIsBetter}
	rate := bench.Metric{Name: "throughput", Unit: "requests/s", Better: bench.HigherIsBetter}
	latency := bench.Metric{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter}
	ratio := func(v float64) []papers.Published { return []papers.Published{{Value: v}} }
	in := func(name, title string, v, low, high, here float64, published ...papers.Published) claims.Point {
		q := claims.Point{Case: name, Title: title, Value: v, Low: low, High: high, N: 10, Here: here}
		for _, x := range published {
			if x.IsRatio() {
				q.Published = append(q.Published, x)
			} else {
				q.Absolute = append(q.Absolute, x)
			}
		}
		return q
	}
	at := func(x float64, level, line string, v float64, published ...papers.Published) claims.Point {
		q := in("web["+level+"]", "Web server, "+level+" clients", v, v*0.96, v*1.05, v*5200, published...)
		q.X, q.Level, q.Line = x, level, line
		return q
	}
	names := []string{"sysbench", "memory", "disk"}
	titles := []string{"Finding primes", "Memory bandwidth", "Random writes of 4 KiB through a file system of its own"}
	bars := claims.Plot{Metric: triad, To: "native", Series: []claims.Series{
		{Platform: "native", Ours: "native"},
		{Platform: "docker", Ours: "docker[storage=volume]"},
		{Platform: "kvm", Ours: "qemu-tcg", Label: "emulated (tcg)"},
		{Platform: "sandbox", Ours: "gvisor"},
		{Platform: "xen", Why: "not measured"},
	}}
	for i, name := range names {
		bars.Series[0].Points = append(bars.Series[0].Points, based(in(name, titles[i], 1, 1, 1, 12000, papers.Published{Value: 8400, Unit: "MB/s"})))
		bars.Series[1].Points = append(bars.Series[1].Points, in(name, titles[i], 0.99-0.04*float64(i), 0.97-0.04*float64(i), 1.01-0.04*float64(i), 11800, ratio(0.93)[0]))
		bars.Series[2].Points = append(bars.Series[2].Points, in(name, titles[i], 0.11, 0.105, 0.116, 1300, papers.Published{Value: 0.85, Bound: "least"}))
		bars.Series[3].Points = append(bars.Series[3].Points, in(name, titles[i], 0.96-0.2*float64(i), 0.93-0.2*float64(i), 1-0.2*float64(i), 9000))
		bars.Series[4].Points = append(bars.Series[4].Points, claims.Point{Case: name, Title: titles[i], Published: ratio(0.8)})
	}
	curve := func(m bench.Metric, docker, kvm float64) claims.Plot {
		plot := claims.Plot{Metric: m, To: "native", Factor: "web.clients", Series: []claims.Series{
			{Platform: "native", Ours: "native"}, {Platform: "docker", Ours: "docker"}, {Platform: "kvm", Ours: "kvm"}}}
		for i, level := range []string{"1", "4", "16", "64", "256"} {
			x := []float64{1, 4, 16, 64, 256}[i]
			for _, line := range []string{"web, page small", "web, page large"} {
				plot.Series[0].Points = append(plot.Series[0].Points, based(at(x, level, line, 1)))
				plot.Series[1].Points = append(plot.Series[1].Points, at(x, level, line, docker-0.02*float64(i)))
				plot.Series[2].Points = append(plot.Series[2].Points, at(x, level, line, kvm-0.06*float64(i), ratio(kvm-0.03*float64(i))...))
			}
		}
		return plot
	}
	absolute := claims.Plot{Metric: latency, Series: []claims.Series{
		{Platform: "docker", Ours: "docker", Points: []claims.Point{in("startup", "Starting", 310, 290, 330, 0, papers.Published{Value: 1000, Unit: "ms", Bound: "most"})}},
		{Platform: "kvm", Ours: "kvm", Points: []claims.Point{in("startup", "Starting", 2900, 2800, 3010, 0, papers.Published{Value: 11000, Unit: "ms"})}},
	}}
	d := &claims.Document{Format: claims.Format, Papers: []claims.Paper{{
		ID: "made2020", Title: "A Paper That Nobody Wrote about Containers and Machines", Cite: "A. Nobody, B. Nobody. CONF 2020. 10.0/0", Machine: "two sockets, 64 GB",
		Doubts: []string{"The abstract has Docker slower than the figures."},
		Exhibits: []claims.Exhibit{
			{ID: "fig1", Title: "Where the pieces are", Drawn: papers.SetUp, State: papers.State{Kind: papers.Described}},
			{ID: "fig2", Title: "What each platform leaves of the work of a machine", Section: "4.1", Drawn: papers.Bars, State: papers.State{Kind: papers.Narrower, Missing: []string{"platform xen"}},
				Scale: []string{"a file of 1 GiB, for 16"}, Doubts: []string{"The text has 8 % where the figure has 5."}, Runs: []string{"results/a"}, Plots: []claims.Plot{bars},
				Findings: []claims.Finding{
					{Says: "Docker keeps the bandwidth of memory.", Test: "docker / native in memory, triad: equal 1.000", Verdict: claims.Holds, Size: claims.Holds, Published: []float64{0.93}, P: p(0.001), Holm: p(0.004),
						Parts: []claims.Part{{What: "docker / native in memory", Q: 0.953, Low: 0.931, High: 0.974, N: 10, Verdict: claims.Holds, Size: claims.Holds, Caution: "docker: the host was loaded"}}},
					{Says: "No platform is slower on the disk than the machine itself, whatever is written and however many write at a time.", Test: "each / native in disk, iops: equal 1.000", Verdict: claims.DoesNot, Size: claims.DoesNot, Published: []float64{0.97, 0.99}, P: p(0.001), Holm: p(0.004),
						Parts: []claims.Part{
							{What: "docker / native in disk", Q: 0.91, Low: 0.88, High: 0.93, N: 10, Verdict: claims.Holds},
							{What: "sandbox / native in disk", Q: 0.56, Low: 0.53, High: 0.6, N: 10, Verdict: claims.DoesNot, Size: claims.DoesNot},
							{What: "docker / native in sysbench", Q: 0.999, Low: 0.997, High: 1.001, N: 10, Verdict: claims.Holds},
							{What: "sandbox / native in sysbench", Q: 0.97, Low: 0.95, High: 1, N: 10, Verdict: claims.Undecided, Why: "about 30 blocks would decide in 90 % of runs"},
						}, But: "the file is smaller than memory"},
					{Says: "KVM keeps most of it.", Test: "kvm / native in memory, triad: above 0.800", Verdict: claims.NotAsked, Why: "qemu-tcg is emulated here", Published: []float64{0.85}},
				}},
			{ID: "fig3", Title: "Requests over the number of clients", Section: "4.2", Drawn: papers.Curves, State: papers.State{Kind: papers.StandIn, Instead: "nginx for Apache"}, Runs: []string{"results/a"},
				Plots: []claims.Plot{curve(rate, 0.97, 0.9), curve(latency, 1.2, 1.9)},
				Findings: []claims.Finding{
					{Says: "KVM falls behind as clients are added.", Test: "kvm / native in web, throughput along web.clients: falls", Verdict: claims.Holds,
						Parts: []claims.Part{{What: "kvm / native in web", Q: 0.887, Low: 0.86, High: 0.914, N: 10, Slope: true, Verdict: claims.Holds}}},
					{Says: "Docker bends at the same number of clients.", Test: "docker in web, knee: above 40.000", Verdict: claims.Undecided, Why: "about 14 blocks would decide in 90 % of runs", Needed: 14,
						Parts: []claims.Part{{What: "docker in web", Q: 41, Low: 36, High: 47, N: 6, Unit: "clients", Verdict: claims.Undecided, Needed: 14}}},
				}},
			{ID: "table1", Title: "How long a start takes", Section: "4.3", Drawn: papers.Table, State: papers.State{Kind: papers.AsPublished}, Runs: []string{"results/b"}, Plots: []claims.Plot{absolute},
				Findings: []claims.Finding{
					{Says: "A machine takes more than ten times as long to start.", Test: "kvm / docker in startup, time_to_ready: above 10.000", Verdict: claims.DoesNot, Size: claims.Undecided, Published: []float64{11},
						Parts: []claims.Part{{What: "kvm / docker in startup", Q: 9.35, Low: 9.1, High: 9.62, N: 10, Verdict: claims.DoesNot, Size: claims.Undecided}}},
					{Says: "Every container starts.", Test: "docker in startup, unfinished: below 0.010", Verdict: claims.Undecided, Why: "more blocks or a quieter host may decide",
						Parts: []claims.Part{{What: "docker in startup", Q: 0, Low: 0, High: 0.28, N: 10, Unit: claims.Share, Verdict: claims.Undecided}}},
				}},
			{ID: "fig4", Title: "Watts over the load", Drawn: papers.Curves, State: papers.State{Kind: papers.AsPublished}, Runs: []string{"results/a"},
				Findings: []claims.Finding{{Says: "Xen draws the most.", Test: "xen / native in web, power: above 1.000", Verdict: claims.NotAsked, Why: "no power meter was read"}}},
			{ID: "fig5", Title: "Cost of a month in the cloud", Drawn: papers.Bars, State: papers.State{Kind: papers.NotHere, Missing: []string{"The prices of another company's service."}},
				Plots:    []claims.Plot{{Metric: bench.Metric{Name: "price"}, Series: []claims.Series{{Platform: "ecs", Why: "not measured", Points: []claims.Point{{Case: "month", Title: "month", Absolute: []papers.Published{{Value: 21, Unit: "USD"}}}}}}}},
				Findings: []claims.Finding{{Says: "It is cheap.", Test: "none: a price", Verdict: claims.NotAsked, Why: "no test: a price"}}},
		},
	}}, Runs: []claims.Basis{{Dir: "results/a", Experiment: "overhead", Started: "2026-01-02 03:04", Repeat: "tare run overhead --seed 1", Complete: true}, {Dir: "results/b", Experiment: "startup", Started: "2026-01-02 04:04", Repeat: "tare run startup --seed 1"}}}
	recount(d)
	return d
}

// based is what others are relative to.
func based(q claims.Point) claims.Point {
	q.Base = true
	return q
}

func recount(d *claims.Document) {
	for i := range d.Papers {
		p := &d.Papers[i]
		for k := range p.Exhibits {
			for _, f := range p.Exhibits[k].Findings {
				p.Tally.Add(f.Verdict)
				if f.Verdict == claims.Holds && f.Size != "" {
					p.Sizes.Add(f.Size)
				}
			}
		}
	}
}

// twice has a second paper.
func twice() *claims.Document {
	d := reproduced()
	other := reproduced().Papers[0]
	other.ID, other.Title = "made2021", "Another"
	d.Papers = append(d.Papers, other)
	return d
}

func renderReproduction(t *testing.T, d *claims.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Reproduction(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReproductionText(t *testing.T) {
	for name, of := range map[string]struct {
		write func(io.Writer, *claims.Document) error
		d     *claims.Document
	}{"reproduction.txt": {ReproductionText, reproduced()}, "reproductions.txt": {ReproductionText, twice()}, "reproduction.md": {ReproductionMarkdown, reproduced()}} {
		var b bytes.Buffer
		if err := of.write(&b, of.d); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > claimsWidth && !strings.HasSuffix(name, ".md") || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
	}
}

func TestQuantityOfAClaim(t *testing.T) {
	for want, p := range map[string]claims.Part{
		"0.93 (0.91 to 0.95)":                           {Q: 0.9312, Low: 0.912, High: 0.951},
		"0.997 (0.994 to 1.001)":                        {Q: 0.997, Low: 0.994, High: 1.001},
		"0.83 (0.043 to 30)":                            {Q: 0.834, Low: 0.0432, High: 30.5},
		"0.062 (scatters)":                              {Q: 0.062, Low: 0.0000077, High: 493},
		"0.44, of one block":                            {Q: 0.44, Low: 0.44, High: 0.44, N: 1},
		"1.5":                                           {Q: 1.5},
		"31.2 (29.0 to 33.5)":                           {Q: 31.2, Low: 29, High: 33.5},
		"0.0123 (0.0111 to 0.0134)":                     {Q: 0.0123, Low: 0.01111, High: 0.0134},
		"slope -0.12 (-0.15 to -0.09)":                  {Q: 0.887, Low: 0.861, High: 0.914, Slope: true},
		"slope 0.0998":                                  {Q: 1.105, Slope: true},
		"310 (290 to 330) ms":                           {Q: 310, Low: 290, High: 330, Unit: "ms"},
		"0 (0 to 27.8) %":                               {Q: 0, Low: 0, High: 0.278, Unit: claims.Share},
		"2 MiB (1 MiB to 3 MiB)":                        {Q: 2 << 20, Low: 1 << 20, High: 3 << 20, Unit: "bytes"},
		"12\u202f000 (11\u202f000 to 13\u202f000) MB/s": {Q: 12000, Low: 11000, High: 13000, Unit: "MB/s"},
	} {
		if got := quantity(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// code is text that Markdown takes as it is.
var code = regexp.MustCompile("`[^`\n]*`")

// Whatever text a document has, nothing but text comes of it.
func TestReproductionKeepsMarkupText(t *testing.T) {
	d := reproduced()
	everyText(reflect.ValueOf(d))
	for i, e := range reproduced().Papers[0].Exhibits { // what chooses the form
		d.Papers[0].Exhibits[i].Drawn, d.Papers[0].Exhibits[i].State.Kind = e.Drawn, e.State.Kind
	}
	page := renderReproduction(t, d)
	for _, bad := range []string{"<script", "<img", "\"'>"} {
		if i := strings.Index(page, bad); i >= 0 {
			t.Errorf("%q came through: %s", bad, page[max(0, i-120):i+40])
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the text itself is gone")
	}
	for name, write := range map[string]func(io.Writer, *claims.Document) error{"text": ReproductionText, "markdown": ReproductionMarkdown} {
		var b bytes.Buffer
		if err := write(&b, d); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(b.String(), '\x1b') || name == "markdown" && strings.Contains(code.ReplaceAllString(b.String(), ""), "<script") {
			t.Errorf("%s: markup or an escape sequence came through", name)
		}
	}
}

// Its links lead to places in it, and nothing is fetched.
func TestReproductionStandsAlone(t *testing.T) {
	for name, d := range map[string]*claims.Document{"one": reproduced(), "two": twice(), "none": {}} {
		page := renderReproduction(t, d)
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: id %q is there twice", name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			if !seen[strings.TrimPrefix(m[1], "#")] {
				t.Errorf("%s: link to %q leads nowhere", name, m[1])
			}
		}
		if m := loads.FindString(page); m != "" {
			t.Errorf("%s: the page asks for something outside: %q", name, m)
		}
	}
}

func TestReproductionShowsWhatItHas(t *testing.T) {
	page := renderReproduction(t, reproduced())
	for _, want := range []string{
		"2 of 9 claims hold here, 2 do not, 2 undecided, 3 not asked", "<b>Does not hold here:</b>", "Published absolute numbers are those of another machine",
		"emulated (tcg)", "kvm (here qemu-tcg), emulated (tcg)", "The paper contradicts itself", "To bear in mind: the file is smaller than memory", "docker: the host was loaded",
		"not here: The prices of another company&#39;s service.", "stand-in: nginx for Apache", "slope -0.12 (-0.15 to -0.09)", "Not measured: xen.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, `class="groups"`); n != 1 {
		t.Errorf("%d pictures of bars", n)
	}
	if n := strings.Count(page, `class="curve panel"`); n != 4 {
		t.Errorf("%d pictures of curves", n)
	}
}

// A document as it is stored is the document that is shown.
func TestReproductionOfStoredDocument(t *testing.T) {
	text, err := json.Marshal(reproduced())
	if err != nil {
		t.Fatal(err)
	}
	var d claims.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if renderReproduction(t, &d) != renderReproduction(t, reproduced()) {
		t.Error("the page of a stored document differs")
	}
}

package result

import (
	"strings"
	"testing"

	"tare/internal/bench"
)

var (
	ofCPU   = bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	ofStart = bench.StartupMetrics[1]
)

// summarized is a result of one case for each metric, whose effects are by platform.
func summarized(cases ...Case) *Result {
	r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Cases: cases}
	r.Summarize()
	return r
}

func caseWith(name, short string, m bench.Metric, platforms map[string]*Effect, order ...string) Case {
	c := Case{Name: name, Short: short, Kind: bench.One, Rows: []Row{{Metric: m, Platform: "native", Baseline: true, N: 5, Median: 100}}}
	for _, p := range order {
		e := platforms[p]
		e.Words = e.Say(m, 0.03)
		c.Rows = append(c.Rows, Row{Metric: m, Platform: p, N: 5, Effect: e})
	}
	return c
}

func TestSentences(t *testing.T) {
	r := summarized(
		caseWith("cpu", "CPU work", ofCPU, map[string]*Effect{
			"docker": {Ratio: 1, Low: 0.99, High: 1.01, Verdict: Equivalent},
			"gvisor": {Ratio: 0.9, Low: 0.88, High: 0.92, Verdict: Differs},
		}, "docker", "gvisor"),
		caseWith("net-rr", "", ofCPU, map[string]*Effect{
			"docker": {Ratio: 0.89, Low: 0.87, High: 0.91, Verdict: Differs},
			"gvisor": {Ratio: 0.0049, Low: 0.0045, High: 0.0053, Verdict: Differs},
		}, "docker", "gvisor"),
		caseWith("disk", "disk reads", ofCPU, map[string]*Effect{
			"docker": {Ratio: 0.98, Low: 0.94, High: 1.02, Verdict: Inconclusive},
			"gvisor": {Ratio: 1.01, Low: 0.7, High: 1.4, Verdict: Inconclusive},
		}, "docker", "gvisor"),
		caseWith("write", "writing", ofCPU, map[string]*Effect{
			"docker": {Verdict: Refused, Why: "only 1 block"},
			"gvisor": {Ratio: 1.1, Low: 1.05, High: 1.15, Verdict: Differs},
		}, "docker", "gvisor"),
		caseWith("startup", "start-up", ofStart, map[string]*Effect{
			"docker": {Ratio: 50, Low: 10, High: 250, Verdict: Differs, Added: &Added{278.4, 270, 290}},
			"gvisor": {Ratio: 1.1, Low: 0.9, High: 1.3, Verdict: Inconclusive, Added: &Added{0.5, -0.3, 1.2}},
		}, "docker", "gvisor"),
	)
	want := []string{
		"docker: no difference within 3 % on CPU work; 11.0 % slower (9.0 to 13.0) on net rr; adds 278 ms to start-up (270 to 290); at most 6.0 % slower on disk reads; not compared: writing (only 1 block).",
		"gvisor: 204 times slower (189 to 222) on net rr and 10.0 % slower (8.0 to 12.0) on CPU work; 10.0 % faster (5.0 to 15.0) on writing; not known: start-up (between -0.300 ms and +1.20 ms) and disk reads (between 40.0 % faster and 30.0 % slower).",
	}
	if got := r.Summary.Sentences; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	cells := map[string]string{}
	for _, c := range r.Summary.Costs {
		cells[c.Work+" "+c.Platform] = c.Cell()
	}
	for of, want := range map[string]string{
		"CPU work docker": "±3 %", "CPU work gvisor": "+10 % (8.0 to 12)", "net rr docker": "+11 % (9.0 to 13)", "net rr gvisor": "204x (189 to 222)",
		"disk reads docker": "? -2.0 to +6.0 %", "writing docker": "not compared", "writing gvisor": "-10 % (-15 to -5.0)",
		"start-up docker": "+278 ms (270 to 290)", "start-up gvisor": "? -0.300 to +1.20 ms",
	} {
		if cells[of] != want {
			t.Errorf("%s: %q, want %q", of, cells[of], want)
		}
	}
}

func TestWorksOfOneNameAreToldApart(t *testing.T) {
	effects := map[string]*Effect{"lxc": {Ratio: 1, Low: 0.99, High: 1.01, Verdict: Equivalent}}
	r := summarized(caseWith("a", "reads", ofCPU, effects, "lxc"), caseWith("b", "reads", ofCPU, effects, "lxc"), caseWith("c", "writes", ofCPU, effects, "lxc"))
	if got := r.Summary.Sentences[0]; got != "lxc: no difference within 3 % on a, b and writes." {
		t.Error(got)
	}
}

// Where the machine was measured at rest, what was asked is its power.
func TestSummaryOfPower(t *testing.T) {
	differs := &Effect{Ratio: 1.1, Low: 1.08, High: 1.12, Verdict: Differs}
	drawn := func(c Case, of *Effect, n int) Case {
		c.Energy = []Energy{{Meter: "model", Platform: "lxc", Modelled: true, N: 3}, {Meter: "pdu", Platform: "native", Baseline: true, N: 3, Points: []Point{{Value: 160}}},
			{Meter: "pdu", Platform: "lxc", N: n, Effect: of}}
		return c
	}
	rest := 100.0
	cases := []Case{drawn(Case{Name: "idle"}, &Effect{Ratio: 1, Low: 0.99, High: 1.01, Verdict: Equivalent}, 3),
		drawn(caseWith("cpu", "", ofCPU, map[string]*Effect{"lxc": {Ratio: 0.5, Low: 0.4, High: 0.6, Verdict: Differs}}, "lxc"), differs, 3),
		drawn(caseWith("disk", "", ofCPU, nil), &Effect{Verdict: Refused, Why: "no part"}, 0)}
	r := summarized(cases...)
	if got := r.Summary.Sentences; len(got) != 1 || got[0] != "lxc: 50.0 % slower (40.0 to 60.0) on cpu." {
		t.Errorf("without a meter: %q", got)
	}
	r.Power = []Power{{Meter: "model", Modelled: true, Idle: &rest}, {Meter: "pdu", Idle: &rest}}
	r.Summarize()
	if got := r.Summary.Sentences; len(got) != 1 || got[0] != "lxc, power: no difference within 3 % on idle; 10.0 % higher (8.0 to 12.0) on cpu; no figure for disk (power not known)." {
		t.Errorf("with a meter: %q", got)
	}
	r.Power[1].Idle = nil
	r.Summarize()
	if got := r.Summary.Costs; len(got) != 1 || got[0].Metric.Name == bench.PowerMetric.Name {
		t.Errorf("nothing at rest: %v", got)
	}
}

// With many platforms a sentence is about a kind of work, the costliest first, and there are no
// more than six.
func TestSentencesOfManyPlatforms(t *testing.T) {
	platforms := []string{"a", "b", "c", "d", "e", "f", "g"}
	var cases []Case
	for i := range 9 {
		effects := map[string]*Effect{}
		for _, p := range platforms {
			effects[p] = &Effect{Ratio: 1, Low: 0.99, High: 1.01, Verdict: Equivalent}
		}
		ratio := 0.9 - float64(i)/20
		effects["b"] = &Effect{Ratio: ratio, Low: ratio - 0.01, High: ratio + 0.01, Verdict: Differs}
		cases = append(cases, caseWith("work-"+string(rune('1'+i)), "", ofCPU, effects, platforms...))
	}
	got := summarized(cases...).Summary.Sentences
	if len(got) != 6 || got[0] != "Work 9: no difference within 3 % on a, c, d and 3 more; 50.0 % slower (49.0 to 51.0) on b." || got[5] != "4 further kinds of work are in the table." {
		t.Errorf("%d sentences: %s", len(got), strings.Join(got, "\n"))
	}
}

func TestCautions(t *testing.T) {
	r := &Result{Baseline: "native", Margin: 0.03, Trials: Counts{Asked: 20, Missing: 2, Failed: 1},
		Failures: []Failure{{Error: "no agent"}}, Warnings: []string{"other work kept the host busy"},
		Controls:  &Controls{Baseline: "native", Hold: 6, Of: 7},
		HostFacts: []Fact{{Name: "CPUs", Caveat: "only 2 usable CPUs"}, {Name: "other", Caveat: "only 2 usable CPUs"}},
		Skipped:   []bench.Skip{{Platform: "kvm", Reason: "/dev/kvm is missing"}},
		Cases: []Case{caseWith("cpu", "", ofCPU, map[string]*Effect{
			"docker": {Verdict: Unfair, Unfair: "kernel: another"}, "tcg": {Ratio: 0.1, Low: 0.09, High: 0.11, Verdict: Differs, Caution: "emulated", Loaded: "its load side was busy"}}, "docker", "tcg")}}
	r.Summarize()
	want := []string{
		"not complete: 2 of 20 trials have no outcome yet", "1 of 20 trials failed, the first with: no agent", "docker on cpu: unfair: kernel: another", "tcg: emulated", "the load side may be the limit on cpu: see each row",
		"native differs from itself in 1 of 7 comparisons: chance, or a bias that the audit cannot see", "other work kept the host busy", "only 2 usable CPUs", "left out: kvm: /dev/kvm is missing",
	}
	if got := r.Summary.Cautions; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What all costs of a sentence are of is said once, and what is emulated is left to the table.
func TestSentenceOfOneMetric(t *testing.T) {
	latency := bench.Metric{Name: "mean_latency", Unit: "us", Better: bench.LowerIsBetter}
	platforms := []string{"a", "b", "c", "d", "e", "f", "tcg"}
	effects := map[string]*Effect{"tcg": {Ratio: 9, Low: 8, High: 10, Verdict: Differs}, "a": {Ratio: 1.5, Low: 1.4, High: 1.6, Verdict: Differs}, "f": {Ratio: 1.3, Low: 0.99, High: 1.6, Verdict: Inconclusive}}
	for _, p := range platforms[1:5] {
		effects[p] = &Effect{Ratio: 1.01, Low: 0.95, High: 1.062, Verdict: Inconclusive}
	}
	c := caseWith("rr", "round trips", latency, effects, platforms...)
	for i := range c.Rows {
		if c.Rows[i].Platform == "tcg" {
			c.Rows[i].Label = "emulated (tcg)"
		}
	}
	want := "Round trips, mean latency: 50.0 % higher (40.0 to 60.0) on a; undecided, but within ±6.2 % on b, c, d and e; not known: f (at most 60.0 % higher)."
	if got := summarized(c).Summary.Sentences; len(got) != 1 || got[0] != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for i := range c.Rows {
		c.Rows[i].Label = "nested"
	}
	if got := summarized(c).Summary.Sentences; !strings.Contains(got[0], "on tcg [nested]") {
		t.Errorf("nested is not emulated: %q", got)
	}
	for i := range c.Rows {
		c.Rows[i].Label = "nested, emulated (tcg)"
	}
	if got := summarized(c).Summary.Sentences; !strings.Contains(got[0], "9.0 times as high (8.0 to 10.0) on tcg [nested, emulated (tcg)] and") {
		t.Errorf("nothing but what is emulated: %q", got)
	}
}

// What is still to come is no figure that is lost.
func TestSummaryOfWhatIsStillToCome(t *testing.T) {
	differs := map[string]*Effect{"lxc": {Ratio: 0.5, Low: 0.4, High: 0.6, Verdict: Differs}}
	later := caseWith("disk", "", ofCPU, map[string]*Effect{"lxc": {Verdict: Refused, Why: "no part"}}, "lxc")
	for i := range later.Rows {
		later.Rows[i].N = 0
	}
	r := summarized(caseWith("cpu", "", ofCPU, differs, "lxc"), later)
	if got := r.Summary.Sentences[0]; got != "lxc: 50.0 % slower (40.0 to 60.0) on cpu; no figure for disk (no launch finished)." {
		t.Errorf("complete: %q", got)
	}
	r.Complete = false
	r.Summarize()
	if got := r.Summary.Sentences[0]; got != "lxc: 50.0 % slower (40.0 to 60.0) on cpu; not measured yet: disk." || r.Summary.Costs[1].Short != "not measured yet" {
		t.Errorf("going on: %q, %+v", got, r.Summary.Costs[1])
	}
	r.Cases = r.Cases[1:]
	r.Summarize()
	if got := r.Summary.Sentences; len(got) != 0 {
		t.Errorf("nothing yet: %q", got)
	}
}

// What is the same of several platforms is said once, and what the experiment names and this host lacks last.
func TestSentenceOfSeveralPlatforms(t *testing.T) {
	none := func() *Effect { return &Effect{Verdict: Refused, Why: "only 1 pair"} }
	platforms := map[string]*Effect{"lxc": none(), "docker": none(), "gvisor": {Ratio: 0.9, Low: 0.88, High: 0.92, Verdict: Differs}}
	c := caseWith("load", "primes, 10 % of a CPU", ofCPU, platforms, "lxc", "gvisor", "docker")
	r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Cases: []Case{c}, Answers: []string{"power"},
		Skipped: []bench.Skip{{Platform: "kvm", Reason: "no trial boot", Named: true}, {Platform: "uml", Reason: "not installed"}}}
	r.Summarize()
	want := `lxc and docker: not compared: "primes, 10 % of a CPU" (only 1 pair).
gvisor: 10.0 % slower (8.0 to 12.0) on "primes, 10 % of a CPU".
Power is not known: no meter read that of the machine at rest (--power).
kvm: not measured, for this host cannot run it.`
	if got := strings.Join(r.Summary.Sentences, "\n"); got != want {
		t.Errorf("%s", got)
	}
}

// Where a curve bends is said first, of the metric that answers the question.
func TestSentenceOfKnees(t *testing.T) {
	line := func(platform string, l SweepLine) SweepLine { l.Platform = platform; return l }
	few := SweepLine{NoKnee: "too few levels or blocks"}
	r := &Result{Baseline: "native", Sweeps: []Sweep{
		{Title: "Finding primes", Axis: "virtual CPUs per real CPU", Metric: ofCPU, Lines: []SweepLine{
			line("native", SweepLine{Knee: &Knee{At: 1.02, Low: 0.9, High: 1.25}}), line("lxc", few), line("docker", few),
			line("kvm", SweepLine{NoKnee: "a smooth curve fits", Threshold: &Threshold{Worse: 0.1, At: 1.5, Low: 1.4, High: 1.6}})}},
		{Title: "Finding primes", Axis: "virtual CPUs per real CPU", Metric: bench.Metric{Name: "p95_latency"}, Lines: []SweepLine{line("native", few)}},
		{Title: "Sending", Axis: "message size", Metric: ofCPU, Lines: []SweepLine{line("native", SweepLine{})}},
	}}
	r.Summarize()
	want := "Finding primes: the knee is at 1.02 virtual CPUs per real CPU on native (0.90 to 1.25); 10 % worse from 1.50 on with kvm (1.40 to 1.60); " +
		"no knee is known on lxc and docker (too few levels or blocks); no knee is known on kvm (a smooth curve fits)."
	if got := strings.Join(r.Summary.Sentences, "\n"); got != want {
		t.Errorf("%s", got)
	}
}

// So is the highest rate that a server holds, or why it is not known.
func TestSentenceOfPeaks(t *testing.T) {
	requests := bench.Metric{Name: "requests", Unit: "requests/s", Better: bench.HigherIsBetter, Headline: true}
	r := &Result{Baseline: "native", Sweeps: []Sweep{{Title: "Apache", Axis: "rate", Metric: requests, Lines: []SweepLine{
		{Platform: "native", Peak: &Peak{At: 5200, Low: 5000, High: 5400, N: 3}}, {Platform: "lxc", NoPeak: "too few blocks"}, {Platform: "docker", NoPeak: "too few blocks"},
		{Platform: "kvm", Peak: &Peak{At: 996, Low: 0.14, High: 7e6, N: 2}}}}}} // a bound that says nothing
	r.Summarize()
	want := "Apache: up to 5 200 requests/s on native (5 000 to 5 400); no peak is known on lxc and docker (too few blocks); no peak is known on kvm (launches scatter too much for a bound)."
	if got := strings.ReplaceAll(strings.Join(r.Summary.Sentences, "\n"), "\u202f", " "); got != want {
		t.Errorf("%s", got)
	}
}

// An interval from less than a tenth to more than ten times as much bounds nothing, and its figures are not shown.
func TestNoBoundIsShownThatSaysNothing(t *testing.T) {
	scatters := func() *Effect { return &Effect{Ratio: 0.9, Low: 1e-6, High: 1e8, Verdict: Inconclusive} }
	r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Cases: []Case{
		caseWith("web", "nginx", ofCPU, map[string]*Effect{"lxc": scatters()}, "lxc"),
		caseWith("redis", "Redis", ofCPU, map[string]*Effect{"lxc": {Ratio: 0.9, Low: 0.2, High: 15, Verdict: Inconclusive}}, "lxc")}}
	r.Summarize()
	if got := r.Summary.Sentences[0]; got != "lxc: not known: Redis (between 15.0 times as fast and 80.0 % slower); not compared: nginx (launches scatter too much for a bound)." {
		t.Errorf("%s", got)
	}
	if cell := r.Summary.Costs[0].Cell(); cell != "? scatters" || scatters().Say(ofCPU, 0.03) != "undecided: launches scatter too much for a bound" {
		t.Errorf("%s, %s", cell, scatters().Say(ofCPU, 0.03))
	}
}

// Cautions say what is wrong before the scenes, which they call what sentences call them.
func TestCautionsNameScenes(t *testing.T) {
	rate, size := map[string]string{"rate": "700"}, map[string]string{"message-size": "1KiB"}
	r := &Result{Cases: []Case{
		{Name: "net-rr", Short: "network round trips"}, {Name: "stream[message-size=1KiB]", Short: "bulk transfer, message size 1 KiB", Factors: size},
		{Name: "cpu-idle", Title: "Primes, beside three idle"}, {Name: "small[rate=700]", Short: "Apache, 1 KB, rate 700", Factors: rate},
		{Name: "large[rate=700]", Short: "Apache, 100 KB, rate 700", Factors: rate}, {Name: "beside[x=1,y=2]", Title: "Primes beside one, busy, apart", Short: "beside, busy, apart", Factors: map[string]string{"x": "1", "y": "2"}},
		{Name: "odd[rate=700]", Short: "odd", Factors: rate},
	}, Relative: &Matrix{Rows: []MatrixRow{{Case: "alone", Cells: []*MatrixCell{{Case: "beside[x=1,y=2]"}}}}}}
	for warning, want := range map[string]string{
		"net-rr: CPU 0 is shared":                               "CPU 0 is shared (network round trips)",
		"stream and net-rr: CPU 0 is shared":                    "CPU 0 is shared (bulk transfer and network round trips)",
		"cpu-idle, net-rr and stream[message-size=1KiB]: CPU 0": `CPU 0 ("Primes, beside three idle", network round trips and "bulk transfer, message size 1 KiB")`,
		"small and large: CPU 0 is shared":                      `CPU 0 is shared ("Apache, 1 KB" and "Apache, 100 KB")`,
		"beside: CPU 0 is shared":                               "CPU 0 is shared (Primes beside one)",
		"odd: CPU 0 is shared":                                  "CPU 0 is shared (odd)",
		"cpu-idle, net-rr, stream, small and beside: left out":  `left out ("Primes, beside three idle", network round trips, bulk transfer and 2 more)`,
		"net-rr and other: left out":                            "net-rr and other: left out",
		"only 2 CPUs":                                           "only 2 CPUs",
	} {
		if got := r.called(warning); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What answers the question is in the place of the headline metrics, of cases that have it.
func TestAnswersComeFirst(t *testing.T) {
	memory := bench.Metric{Name: "memory_used", Unit: "MiB", Better: bench.LowerIsBetter, Adds: true}
	added := &Effect{Ratio: 2, Low: 1.9, High: 2.1, Verdict: Differs, Added: &Added{Mean: 12.5, Low: 12, High: 13}}
	slower := func() *Effect { return &Effect{Ratio: 0.5, Low: 0.4, High: 0.6, Verdict: Inconclusive} }
	cpu := caseWith("cpu", "CPU work", ofCPU, map[string]*Effect{"lxc": slower()}, "lxc")
	cpu.Rows = append(cpu.Rows, caseWith("cpu", "", memory, map[string]*Effect{"lxc": added}, "lxc").Rows...)
	rest := caseWith("rest", "", ofCPU, map[string]*Effect{"lxc": slower()}, "lxc")
	for _, c := range []struct {
		answers   []string
		works     string
		undecided int
	}{
		{nil, "CPU work; rest", 2},
		{[]string{"memory_used"}, "CPU work; rest", 1},
		{[]string{"memory_used", ofCPU.Name}, "CPU work, memory used; CPU work, throughput; rest", 2},
		{[]string{"unknown"}, "CPU work; rest", 2},
	} {
		r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Answers: c.answers, Cases: []Case{cpu, rest}}
		r.Summarize()
		var works []string
		for _, cost := range r.Summary.Costs {
			works = append(works, cost.Work)
		}
		undecided := 0
		for e := range r.Headlines() {
			if e.Verdict == Inconclusive {
				undecided++
			}
		}
		if got := strings.Join(works, "; "); got != c.works || undecided != c.undecided {
			t.Errorf("%v: %s, %d undecided", c.answers, got, undecided)
		}
		if first := r.Summary.Costs[0]; len(c.answers) > 0 && c.answers[0] == "memory_used" && first.Cell() != "+12.5 MiB (12.0 to 13.0)" {
			t.Errorf("%v: %s", c.answers, first.Cell())
		}
	}
}

// Why several have no figure is said once.
func TestSentenceOfWhatHasNoFigure(t *testing.T) {
	few := func() map[string]*Effect {
		return map[string]*Effect{"lxc": {Verdict: Refused, Why: "only 1 block"}}
	}
	r := summarized(caseWith("cpu", "", ofCPU, few(), "lxc"), caseWith("disk", "", ofCPU, map[string]*Effect{"lxc": {Verdict: Refused, Why: "no part"}}, "lxc"),
		caseWith("net", "", ofCPU, few(), "lxc"))
	if got := r.Summary.Sentences[0]; got != "lxc: not compared: cpu and net (only 1 block) and disk (no part)." {
		t.Error(got)
	}
}

// Of many that add to the same work the least and the most are said, by what they add.
func TestSentenceOfManyThatAdd(t *testing.T) {
	effects := map[string]*Effect{}
	var platforms []string
	for i, added := range []float64{30, 10, 50, 20, 40, 25} {
		p := string(rune('a' + i))
		platforms = append(platforms, p)
		// The order by ratio is another.
		effects[p] = &Effect{Ratio: 10 - float64(i), Low: 2, High: 20, Verdict: Differs, Added: &Added{Mean: added, Low: added - 5, High: added + 5}}
	}
	start := bench.Metric{Name: "ready", Unit: "ms", Better: bench.LowerIsBetter, Adds: true}
	got := summarized(caseWith("startup", "start-up", start, effects, platforms...)).Summary.Sentences
	want := "Start-up: adds 10.0 ms on b (5.00 to 15.0) at the least, 50.0 ms on c (45.0 to 55.0) at the most and between them on 4 more."
	if len(got) != 1 || got[0] != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The ends of an interval of which one is a factor keep their units.
func TestCostNamesTheUnitsOfMixedBounds(t *testing.T) {
	c := Cost{Metric: bench.Metric{Better: bench.LowerIsBetter}, Verdict: Differs, Speed: 1 / 1.78, Low: 1 / 2.4, High: 1 / 1.33}
	if c.shorten(0.03); c.Short != "+78 %" || c.Bounds != "33 % to 2.4x" {
		t.Errorf("%s (%s)", c.Short, c.Bounds)
	}
}

package claims

import (
	"math"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/papers"
	"tare/internal/result"
	"tare/internal/spec"
)

// none has no experiment: what is judged here asks for no state.
var none = papers.Experiments{Find: func(string) (*spec.Experiment, error) { return nil, bench.ErrInvalid }}

// rowOf is a platform's values of a metric, a block each.
func rowOf(platform, metric string, values ...float64) result.Row {
	r := result.Row{Metric: bench.Metric{Name: metric}, Platform: platform, N: len(values)}
	for i, v := range values {
		r.Points = append(r.Points, result.Point{Block: i + 1, Value: v, Trial: "t"})
	}
	return r
}

// runOf is a run of native and lxc with cases.
func runOf(dir string, cases ...result.Case) *Run {
	return &Run{Dir: dir, Result: &result.Result{Baseline: "native", Margin: 0.03, Cases: cases,
		Platforms: []result.Platform{{Name: "native"}, {Name: "lxc"}, {Name: "qemu-tcg", Label: "emulated (tcg)"}}}}
}

// paperOf has one exhibit of the experiment x with the claims.
func paperOf(claims ...papers.Claim) *papers.Paper {
	return &papers.Paper{ID: "p", Platforms: map[string][]string{"native": {"native"}, "lxc": {"lxc"}, "kvm": {"qemu-tcg"}},
		Exhibits: []papers.Exhibit{{ID: "fig1", Drawn: papers.Bars, Platforms: []string{"native", "lxc", "kvm"},
			Shows: []papers.Show{{Experiment: "x", Scenes: []string{"a"}, Metrics: []string{"rate"}}}, Claims: claims}}}
}

func verdictsOn(t *testing.T, p *papers.Paper, runs ...*Run) Paper {
	t.Helper()
	got, err := Judge(p, nil, none, Measured{"x": runs})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var slower = papers.Claim{Says: "LXC is slower.", Of: papers.Words{"lxc"}, To: papers.Words{"native"}, In: papers.Words{"a"}, Metric: "rate", Is: papers.Below}

// A claim is asked of what may be compared alone.
func TestNotAsked(t *testing.T) {
	rate := func(of, lxc float64) result.Case {
		return result.Case{Name: "a", Rows: []result.Row{rowOf("native", "rate", of, of, of), rowOf("lxc", "rate", lxc, lxc, lxc), rowOf("qemu-tcg", "rate", 1, 1, 1)}}
	}
	unfair := rate(10, 5)
	unfair.Rows[1].Effect = &result.Effect{Unfair: "memory differs"}
	waits := rate(10, 5)
	waits.Rows[1].Effect = &result.Effect{Waiting: 0.9}
	drawn := rate(10, 5)
	drawn.Energy = []result.Energy{{Platform: "native", Points: drawn.Rows[0].Points, Modelled: true}, {Platform: "lxc", Points: drawn.Rows[1].Points, Modelled: true}}
	met := drawn
	met.Energy = []result.Energy{{Platform: "native", Points: drawn.Rows[0].Points}, {Platform: "lxc", Points: drawn.Rows[1].Points}}
	unfairPower := met
	unfairPower.Rows = unfair.Rows
	with := func(change func(*papers.Claim)) papers.Claim {
		c := slower
		change(&c)
		return c
	}
	power := with(func(c *papers.Claim) { c.Metric = bench.PowerMetric.Name })
	above := with(func(c *papers.Claim) { c.Metric = papers.PowerAboveRest })
	for name, c := range map[string]struct {
		claim papers.Claim
		in    result.Case
		want  Verdict
		why   string
	}{
		"compared":                       {slower, rate(10, 5), Holds, ""},
		"unfair":                         {slower, unfair, NotAsked, "unfair: memory differs"},
		"waits":                          {slower, waits, NotAsked, "mostly waits"},
		"zero":                           {slower, rate(10, 0), NotAsked, "of which there is no ratio"},
		"emulated":                       {with(func(c *papers.Claim) { c.Of = papers.Words{"kvm"} }), rate(10, 5), NotAsked, "qemu-tcg is emulated here"},
		"another case":                   {with(func(c *papers.Claim) { c.In = papers.Words{"b"} }), rate(10, 5), NotAsked, "b was not measured"},
		"another metric":                 {with(func(c *papers.Claim) { c.Metric = "time" }), rate(10, 5), NotAsked, "lxc has no time in a"},
		"void":                           {with(func(c *papers.Claim) { c.Void = "no wire" }), rate(10, 5), NotAsked, "void: no wire"},
		"no test":                        {papers.Claim{Says: "It is so.", None: "an opinion"}, rate(10, 5), NotAsked, "no test: an opinion"},
		"power":                          {power, met, Holds, ""},
		"power, modelled":                {power, drawn, NotAsked, "not measured"},
		"power, no meter":                {power, rate(10, 5), NotAsked, "no power meter was read"},
		"power above rest, no rest":      {above, met, NotAsked, "the power at rest is not known"},
		"power above rest, modelled":     {above, drawn, NotAsked, "not measured"},
		"power of a pair that is unfair": {power, unfairPower, NotAsked, "unfair: memory differs"},
	} {
		f := verdictsOn(t, paperOf(c.claim), runOf("r", c.in)).Exhibits[0].Findings[0]
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %s, %q", name, f.Verdict, f.Why)
		}
	}
}

// Power above rest is that of each launch less the rest of its block: 1 of 2 W and 4 of 5 W.
func TestPowerAboveRest(t *testing.T) {
	c := result.Case{Name: "a", Energy: []result.Energy{
		{Meter: "other:", Platform: "lxc", Modelled: true, Points: rowOf("lxc", "power", 9, 9, 9).Points},
		{Meter: "pdu:", Platform: "lxc", Points: rowOf("lxc", "power", 2, 3, 4).Points},
		{Meter: "pdu:", Platform: "native", Points: rowOf("native", "power", 5, 6, 7).Points},
	}}
	run := runOf("r", c)
	run.Result.Power = []result.Power{{Meter: "other:", Idles: []result.IdlePower{{Block: 1, Watts: 8}}},
		{Meter: "pdu:", Idles: []result.IdlePower{{Block: 1, Watts: 1}, {Block: 2, Watts: 2}, {Block: 3, Watts: 3}}}}
	claim := slower
	claim.Metric = papers.PowerAboveRest
	f := verdictsOn(t, paperOf(claim), run).Exhibits[0].Findings[0]
	if f.Verdict != Holds || math.Abs(f.Parts[0].Q-0.25) > 1e-9 || f.Parts[0].N != 3 {
		t.Errorf("%s, %q, %+v", f.Verdict, f.Why, f.Parts)
	}
}

// A slope is along the factor that a case has, of several that a claim names.
func TestAlongOneOfSeveral(t *testing.T) {
	level := func(scene, factor, level string, rate float64) result.Case {
		return result.Case{Name: scene + "[" + factor + "=" + level + "]", Factors: map[string]string{factor: level},
			Rows: []result.Row{rowOf("lxc", "rate", rate, rate, rate)}}
	}
	claim := papers.Claim{Says: "It rises.", Of: papers.Words{"lxc"}, In: papers.Words{"a", "b"}, Metric: "rate", Along: papers.Words{"share", "quota"}, Is: papers.Rises}
	f := verdictsOn(t, paperOf(claim), runOf("r", level("a", "share", "1", 1), level("a", "share", "10", 10), level("b", "quota", "0.1", 2), level("b", "quota", "1", 20))).Exhibits[0].Findings[0]
	if f.Verdict != Holds || len(f.Parts) != 2 {
		t.Errorf("%s, %q, %+v", f.Verdict, f.Why, f.Parts)
	}
}

// Cases are set against those of the same run; a run that has both comes first.
func TestCasesOfARun(t *testing.T) {
	a := result.Case{Name: "a", Rows: []result.Row{rowOf("lxc", "rate", 5, 5, 5)}}
	b := result.Case{Name: "b", Rows: []result.Row{rowOf("lxc", "rate", 10, 10, 10)}}
	c := papers.Claim{Says: "Less is left.", Of: papers.Words{"lxc"}, In: papers.Words{"a"}, Against: papers.Words{"b"}, Metric: "rate", Is: papers.Below}
	f := verdictsOn(t, paperOf(c), runOf("1", a), runOf("2", b)).Exhibits[0].Findings[0]
	if f.Verdict != NotAsked || !strings.Contains(f.Why, "blocks of two runs do not pair") {
		t.Errorf("of two runs: %s, %q", f.Verdict, f.Why)
	}
	f = verdictsOn(t, paperOf(c), runOf("1", a), runOf("2", a, b)).Exhibits[0].Findings[0]
	if f.Verdict != Holds || math.Abs(f.Parts[0].Q-0.5) > 1e-9 {
		t.Errorf("of the run that has both: %s, %q, %+v", f.Verdict, f.Why, f.Parts)
	}
}

// Among many claims one that would hold alone may be due to chance.
func TestManyClaims(t *testing.T) {
	in := result.Case{Name: "a", Rows: []result.Row{rowOf("native", "rate", 10, 10, 10, 10, 10, 10), rowOf("lxc", "rate", 9.7, 9, 9.6, 9.2, 9.9, 9.3)}}
	one := verdictsOn(t, paperOf(slower), runOf("r", in))
	if f := one.Exhibits[0].Findings[0]; f.Verdict != Holds || one.Tally != (Tally{Holds: 1}) {
		t.Fatalf("alone: %s, %v, %+v", f.Verdict, *f.P, f.Parts)
	}
	many := verdictsOn(t, paperOf(slower, slower, slower, slower, slower, slower), runOf("r", in))
	if f := many.Exhibits[0].Findings[0]; f.Verdict != Undecided || !strings.Contains(f.Why, "not among the paper's 6 claims that were asked") || many.Tally != (Tally{Undecided: 6}) {
		t.Errorf("among six: %s, %q, %+v", f.Verdict, f.Why, many.Tally)
	}
}

// The layer's CPU is what both used beyond the subjects'.
func TestCPUOfLevels(t *testing.T) {
	c := result.Case{Name: "a", Rows: []result.Row{rowOf("lxc", "cpu_used", 3, 2.4), rowOf("lxc", "cpu_overhead", 1.5, 1.2)}}
	for metric, want := range map[string]float64{papers.GuestCPU: 2, papers.LayerCPU: 1} {
		points, m, _, why := runOf("r", c).values(&c, "lxc", metric)
		if why != "" || len(points) != 2 || points[0].Value != want || m.Unit != "cores" {
			t.Errorf("%s: %v %v %q", metric, points, m, why)
		}
	}
}

// A platform of another kind that was measured for the paper's lowers the state, and one like it does not.
func TestStandInPlatforms(t *testing.T) {
	in := result.Case{Name: "a", Rows: []result.Row{rowOf("native", "rate", 10, 10), rowOf("lxc", "rate", 5, 5)}}
	p := paperOf(slower)
	if e := verdictsOn(t, p, runOf("r", in)).Exhibits[0]; len(e.State.Missing) > 0 && strings.Contains(strings.Join(e.State.Missing, " "), "stands here") {
		t.Errorf("of the paper's kind: %q", e.State.Missing)
	}
	p.Platforms["lxc"], p.Else = []string{"docker"}, map[string][]string{"lxc": {"lxc"}}
	e := verdictsOn(t, p, runOf("r", in)).Exhibits[0]
	if !strings.Contains(strings.Join(e.State.Missing, "; "), "platform lxc, for which lxc stands here") || e.Findings[0].Verdict != Holds {
		t.Errorf("of another kind: %q, %s", e.State.Missing, e.Findings[0].Verdict)
	}
}

// "Up to" is said of the largest effect: that it is as large as published is asked of that one alone.
func TestSizeOfAny(t *testing.T) {
	beside := func(name string, rate float64) result.Case {
		return result.Case{Name: name, Rows: []result.Row{rowOf("lxc", "rate", rate, rate, rate)}}
	}
	c := papers.Claim{Says: "Up to half is lost.", Of: papers.Words{"lxc"}, In: papers.Words{"b", "c"}, Against: papers.Words{"a"}, Metric: "rate", For: papers.ForAny, Is: papers.Below, Size: papers.Numbers{0.5}}
	for rate, want := range map[float64]Verdict{5: Holds, 0.5: DoesNot} {
		f := verdictsOn(t, paperOf(c), runOf("r", beside("a", 10), beside("b", 9), beside("c", rate))).Exhibits[0].Findings[0]
		if f.Verdict != Holds || f.Size != want {
			t.Errorf("%g of 10: %s, size %s", rate, f.Verdict, f.Size)
		}
	}
}

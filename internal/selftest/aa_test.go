package selftest

import (
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// synthetic is a plan of one case on the platforms and the outcomes of its
// trials, whose value f gives; NaN is a trial that failed.
func synthetic(platforms []bench.PlatformRef, blocks int, f func(platform, block int) float64) (*bench.Plan, iter.Seq2[*bench.Outcome, error]) {
	p := &bench.Plan{Blocks: blocks, Margin: 0.03, Metrics: map[string][]bench.Metric{
		"cpu": {{Name: "other"}, {Name: "rate", Better: bench.HigherIsBetter, Headline: true}},
	}}
	var all []*bench.Outcome
	for i, ref := range platforms {
		s := bench.Scene{ID: "cpu/" + ref.String(), Case: "cpu", Platform: ref}
		p.Scenes = append(p.Scenes, s)
		for b := 1; b <= blocks; b++ {
			o := &bench.Outcome{Trial: ref.String(), Block: b, Scene: s.ID, Status: bench.Done,
				Values: []bench.Value{{Metric: "other", Value: 1}, {Metric: "rate", Value: f(i, b)}}}
			if math.IsNaN(f(i, b)) {
				o.Status, o.Values = bench.Failed, nil
			}
			all = append(all, o)
		}
	}
	return p, func(yield func(*bench.Outcome, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func ref(name, as string) bench.PlatformRef {
	if as == "" {
		return bench.PlatformRef{Name: name}
	}
	return bench.PlatformRef{Name: name, Options: map[string]string{bench.AliasOption: as}}
}

func TestEvaluateAA(t *testing.T) {
	// Twelve blocks in groups of five: two groups, the last two blocks are left
	// over. docker's second name is 10 % faster in the second group and, in the
	// first, fails in four of five.
	platforms := []bench.PlatformRef{ref("native", ""), ref("native", "b"), ref("docker", ""), ref("docker", "b")}
	p, outcomes := synthetic(platforms, 12, func(platform, block int) float64 {
		v := 100 * (1 + float64(block%3)) // drift that pairing takes out
		wiggle := 0.001 * float64((block*7+platform*3)%5)
		switch {
		case platform == 3 && block <= 4:
			return math.NaN()
		case platform == 3:
			return v * (1.1 + wiggle)
		}
		return v * (1 + wiggle)
	})
	aa, err := EvaluateAA(p, outcomes, 5)
	if err != nil {
		t.Fatal(err)
	}
	if aa.Different.K != 1 || aa.Different.N != 3 || aa.Refused != 1 || len(aa.Comparisons) != 4 {
		t.Errorf("%d of %d differ, %d refused, %d comparisons; want 1 of 3, 1, 4", aa.Different.K, aa.Different.N, aa.Refused, len(aa.Comparisons))
	}
	if len(aa.Rows) != 2 || aa.Rows[0].Platform != "docker" || aa.Rows[0].Different.K != 1 || aa.Rows[1].Different.K != 0 {
		t.Errorf("rows: %+v", aa.Rows)
	}
	if aa.Excludes.K != 1 || aa.Above.K != 1 || aa.Below.K != 0 || aa.Rows[0].Above.K != 1 || aa.Rows[1].Excludes.N != 2 {
		t.Errorf("%+v, rows %+v", aa.Mistakes, aa.Rows)
	}
	for _, c := range aa.Comparisons {
		if c.Verdict == result.Differs && (c.Blocks != [2]int{6, 10} || math.Abs(c.Ratio-1.1) > 0.01) {
			t.Errorf("the comparison that differs: %+v", c)
		}
		if c.Verdict == result.Refused && c.Why == "" {
			t.Error("a refusal without a reason")
		}
	}
}

// The claim is on intervals, not on verdicts: the margin must not hide that they
// are too narrow.
func TestIntervalsHalfAsWideAreFound(t *testing.T) {
	const blocks, group = 1000, 5
	rng := rand.New(rand.NewPCG(12, 8))
	p, outcomes := synthetic([]bench.PlatformRef{ref("native", ""), ref("native", "b")}, blocks,
		func(int, int) float64 { return 100 * math.Exp(0.007*rng.NormFloat64()) })
	aa, err := EvaluateAA(p, outcomes, group)
	if err != nil {
		t.Fatal(err)
	}
	claims := aa.Finding(true).Claims
	if claims[0].Held != Yes || claims[1].Held != Yes {
		t.Errorf("of intervals as they should be: %+v", claims)
	}
	for i := range aa.Comparisons {
		c := &aa.Comparisons[i]
		c.Low, c.High = math.Sqrt(c.Low*c.Ratio), math.Sqrt(c.High*c.Ratio)
		c.Verdict = effect.Verdict(stats.Interval{Low: c.Low, High: c.High}, p.Margin)
	}
	aa.count()
	claims = aa.Finding(true).Claims
	if claims[0].Held != No || claims[1].Held != No {
		t.Errorf("of intervals half as wide: %+v", claims)
	}
	if AtMost(aa.Different, 0.05) != Yes {
		t.Errorf("the margin was to hide it: %v", aa.Different)
	}
}

// One name that is always a little slower is found by the side on which intervals lie.
func TestOneSideIsFound(t *testing.T) {
	aa := &AA{Rows: []AARow{{Platform: "native", Case: "cpu"}}}
	for i := range 400 {
		c := Comparison{Platform: "native", Case: "cpu", Ratio: 0.99, Low: 0.98, High: 1.001, Verdict: result.Equivalent}
		if i < 20 {
			c.High = 0.999
		}
		aa.Comparisons = append(aa.Comparisons, c)
	}
	aa.count()
	f := aa.Finding(true)
	if f.Claims[0].Held != Yes || f.Claims[1].Held != No || f.Claims[1].Found != "below 1: 20 of 400 (3.1-7.6 %)" {
		t.Errorf("%+v", f.Claims)
	}
}

func TestProportion(t *testing.T) {
	// Found apart by bisecting sums of exact binomial probabilities.
	for _, want := range []Proportion{
		{K: 0, N: 200, Low: 0, High: 0.01827534},
		{K: 1, N: 200, Share: 0.005, Low: 0.0001265813, High: 0.02754190},
		{K: 7, N: 20, Share: 0.35, Low: 0.1539092, High: 0.5921885},
		{K: 5, N: 5, Share: 1, Low: 0.4781762, High: 1},
		{K: 0, N: 0, Low: 0, High: 1},
	} {
		got := proportion(want.K, want.N)
		if got.Share != want.Share || math.Abs(got.Low-want.Low) > 1e-5 || math.Abs(got.High-want.High) > 1e-5 {
			t.Errorf("%d of %d: %+v, want %+v", want.K, want.N, got, want)
		}
	}
	if s := proportion(1, 200).String(); s != "1 of 200 (0.0-2.8 %)" {
		t.Errorf("written %q", s)
	}
}

func TestAliases(t *testing.T) {
	text, err := AASpec([]string{"native", "docker[net=host]"}, []string{"startup"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"native"`, `"native[as=b]"`, `"docker[net=host,as=b]"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if _, err := AASpec([]string{"native"}, []string{"frob"}, 5); err == nil {
		t.Error("an unknown case was accepted")
	}
	if n := AABlocks(200, 5, 3, 4); n != 85 {
		t.Errorf("%d blocks for 200 comparisons of 12 pairs by 5; want 85", n)
	}
}

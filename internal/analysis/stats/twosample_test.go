package stats

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

func TestTwoSampleAgreesWithSciPy(t *testing.T) {
	text, err := os.ReadFile("testdata/twosample.json")
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Pairs []struct {
			Name                 string
			A, B                 []float64
			DF, Ratio, Low, High float64
			Above105, Below095   float64
			P                    float64
		}
	}
	if err := json.Unmarshal(text, &reference); err != nil {
		t.Fatal(err)
	}
	if len(reference.Pairs) < 4 {
		t.Fatalf("only %d pairs", len(reference.Pairs))
	}
	for _, r := range reference.Pairs {
		two, err := TwoSample(r.A, r.B)
		if err != nil {
			t.Fatal(err)
		}
		p, err := SplitTest(r.A, r.B)
		if err != nil {
			t.Fatal(err)
		}
		i := two.Interval(0.95)
		for what, pair := range map[string][2]float64{
			"degrees of freedom": {two.DF, r.DF}, "ratio": {i.Mid, r.Ratio}, "low": {i.Low, r.Low}, "high": {i.High, r.High},
			"above 1.05": {two.Above(1.05), r.Above105}, "below 0.95": {two.Below(0.95), r.Below095}, "p": {p, r.P},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[1]) {
				t.Errorf("%s: %s: got %.12g, SciPy has %.12g", r.Name, what, pair[0], pair[1])
			}
		}
	}
}

func TestTwoSampleRefuses(t *testing.T) {
	good := []float64{1, 2, 3}
	for _, c := range []struct {
		a, b []float64
		want error
	}{
		{good, good[:2], ErrFew}, {nil, good, ErrFew},
		{good, []float64{1, 0, 2}, ErrDomain}, {[]float64{1, -1, 2}, good, ErrDomain}, {good, []float64{1, math.NaN(), 2}, ErrDomain},
	} {
		if _, err := TwoSample(c.a, c.b); !errors.Is(err, c.want) {
			t.Errorf("TwoSample(%v, %v): %v", c.a, c.b, err)
		}
		if _, err := SplitTest(c.a, c.b); !errors.Is(err, c.want) {
			t.Errorf("SplitTest(%v, %v): %v", c.a, c.b, err)
		}
	}
}

func TestTwoSampleWithoutScatter(t *testing.T) {
	two, err := TwoSample([]float64{2, 2, 2}, []float64{3, 3, 3})
	if err != nil {
		t.Fatal(err)
	}
	i := two.Interval(0.95)
	if i.Low != i.Mid || i.High != i.Mid || math.Abs(i.Mid-1.5) > 1e-12 {
		t.Errorf("interval %+v", i)
	}
	if two.Above(1.2) != 0 || two.Above(1.6) != 1 || two.Below(1.6) != 0 {
		t.Error("one-sided p of a sure ratio is neither 0 nor 1")
	}
	if p, _ := SplitTest([]float64{2, 2, 2}, []float64{2, 2, 2}); p != 1 {
		t.Errorf("equal samples: p = %v", p)
	}
}

// Above 200,000 splits they are drawn: the same data give the same p, in
// whatever order, and near that of Welch's t for normal data.
func TestSplitTestOfManyValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := lognormal(rng, 14, 0, 0.1), lognormal(rng, 15, 0.07, 0.1)
	p, err := SplitTest(a, b)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(a)
	if again, _ := SplitTest(a, b); again != p {
		t.Errorf("p is %v, and %v in another order", p, again)
	}
	two, _ := TwoSample(a, b)
	if student := 2 * min(two.Above(1), two.Below(1)); math.Abs(student-p) > 0.01 || p > 0.5 {
		t.Errorf("p = %v, by Student's distribution %v", p, student)
	}
}

func lognormal(rng *rand.Rand, n int, mean, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(mean + sd*rng.NormFloat64())
	}
	return x
}

// The interval of two samples holds the truth as often as it says, also where
// one scatters three times as much as the other.
func TestTwoSampleCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	n := max(*simulations, 1000)
	for _, c := range []struct {
		na, nb int
		sa, sb float64
	}{{3, 3, 0.02, 0.02}, {5, 5, 0.02, 0.02}, {5, 5, 0.02, 0.06}, {10, 10, 0.02, 0.06}, {5, 10, 0.06, 0.02}} {
		held, regressions, passed := 0, 0, 0
		for range n {
			two, err := TwoSample(lognormal(rng, c.na, 0, c.sa), lognormal(rng, c.nb, math.Log(1.05), c.sb))
			if err != nil {
				t.Fatal(err)
			}
			if i := two.Interval(0.95); i.Low <= 1.05 && 1.05 <= i.High {
				held++
			}
			// At the limit itself both of a gate's answers are wrong.
			if two.Above(1.05) < 0.025 {
				regressions++
			}
			if two.Upper(0.025) < 1.05 {
				passed++
			}
		}
		share := func(k int) float64 { return 100 * float64(k) / float64(n) }
		t.Logf("%d and %d launches, scatter %.0f %% and %.0f %%: covered %.1f %%, falsely a regression %.1f %%, falsely passed %.1f %%",
			c.na, c.nb, 100*c.sa, 100*c.sb, share(held), share(regressions), share(passed))
		if share(held) < 92.5 || share(regressions) > 4 || share(passed) > 4 {
			t.Errorf("%+v: covered %.1f %%, regressions %.1f %%, passed %.1f %%", c, share(held), share(regressions), share(passed))
		}
	}
}

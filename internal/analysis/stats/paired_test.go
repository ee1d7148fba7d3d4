package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// At the limit itself a gate of one run with both sides seldom calls a regression or a
// pass, and its p agrees with its bound.
func TestPairedAtTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	count := max(*simulations/10, 300)
	for _, n := range []int{3, 5, 10} {
		regressions, passed := 0, 0
		for range count {
			p, err := PairedOf(lognormal(rng, n, math.Log(1.05), 0.02))
			if err != nil {
				t.Fatal(err)
			}
			above := p.Above(1.05, 0.025) < 0.025
			if above {
				regressions++
			}
			if above && p.Lower(0.025) <= 1.05 {
				t.Errorf("p %g, lower bound %g", p.Above(1.05, 0.025), p.Lower(0.025))
			}
			if p.Upper(0.025) < 1.05 {
				passed++
			}
		}
		share := func(k int) float64 { return 100 * float64(k) / float64(count) }
		t.Logf("%d blocks: falsely a regression %.1f %%, falsely passed %.1f %%", n, share(regressions), share(passed))
		if share(regressions) > 5 || share(passed) > 5 { // 2.5 and three standard errors of 300
			t.Errorf("%d blocks: falsely a regression %.1f %%, falsely passed %.1f %%", n, share(regressions), share(passed))
		}
	}
}

func TestPaired(t *testing.T) {
	p, err := PairedOf([]float64{1.1, 1.12, 1.09, 1.11, 1.1})
	if err != nil {
		t.Fatal(err)
	}
	if p.Above(1.05, 0.025) > 0.001 || p.Above(1.2, 0.025) < 0.9 || p.Below(1.2, 0.025) > 0.001 || p.Below(1.05, 0.025) < 0.9 {
		t.Errorf("p %g, %g, %g, %g", p.Above(1.05, 0.025), p.Above(1.2, 0.025), p.Below(1.2, 0.025), p.Below(1.05, 0.025))
	}
	low := p.Lower(0.025)
	p.Low, p.High = 0.9, 1.1
	if math.Abs(p.Lower(0.025)-0.9*low) > 1e-12 || p.Above(1.05, 0.025) < 0.025 || p.Below(1.2, 0.025) < 0.025 {
		t.Errorf("further out: lower %g, p %g and %g", p.Lower(0.025), p.Above(1.05, 0.025), p.Below(1.2, 0.025))
	}
	if n := p.Needed(0.02, 0.025); n.N < 3 || n.N > n.High || n.Low > n.N {
		t.Errorf("%+v", n)
	}
	if _, err := PairedOf([]float64{1, 2}); !errors.Is(err, ErrFew) {
		t.Error(err)
	}
}

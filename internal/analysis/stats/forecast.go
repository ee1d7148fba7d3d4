package stats

import (
	"fmt"
	"math"
	"sort"
)

// ScatterOfRuns estimates the scatter from the paired ratios of several runs, each about
// its run's own mean: an interval is made within a run, so how much runs
// differ is no part of it. Mean is of all ratios, and N one more than the degrees of freedom of
// SD. Fewer than two degrees are an error that wraps ErrFew, a ratio that is not
// positive and finite one that wraps ErrDomain.
func ScatterOfRuns(runs [][]float64) (Scatter, error) {
	var within pooled
	var all []float64
	for _, ratios := range runs {
		x, err := logRatios("scatter of runs", ratios, 0)
		if err != nil {
			return Scatter{}, err
		}
		if len(x) > 1 {
			within.add(x)
		}
		all = append(all, x...)
	}
	if within.df < MinTested-1 {
		return Scatter{}, fmt.Errorf("scatter of runs: %w: %g degrees of freedom, at least %d needed", ErrFew, within.df, MinTested-1)
	}
	return Scatter{Mean(all), math.Sqrt(within.variance()), int(within.df) + 1}, nil
}

// HalfWidth is how far, relative to the ratio, the interval of n blocks reaches in the mean
// over what n blocks may show of the scatter.
func (s Scatter) HalfWidth(n int, confidence float64) float64 {
	nu := float64(n - 1)
	reach := studentTail(nu, (1-confidence)/2) * widening(n, confidence) * s.SD / math.Sqrt(float64(n))
	return overScatter(nu, func(found float64) float64 { return math.Sinh(reach * found) })
}

// Goal is when a row needs no more blocks: its interval is narrow enough at the usual
// level, or decides at the strict one.
type Goal struct {
	Width  float64 // half width that is narrow enough, relative to the ratio
	Margin float64 // of equivalence
	Levels
	// Family is how many ratios are decided together. To differ, a ratio must do so at
	// an error that many times smaller.
	Family int
}

// ToEnd returns how many blocks make a row reach the goal. It asks of one look: the looks
// before it end some runs sooner.
func (s Scatter) ToEnd(g Goal) Need {
	return need(s.SD, float64(s.N-1), func(n int, sd float64) float64 {
		return Scatter{s.Mean, sd, s.N}.Chance(g, n)
	})
}

// Chance is that of reaching the goal with n blocks, if the estimate is the truth.
func (s Scatter) Chance(g Goal, n int) float64 {
	nu, se := float64(n-1), s.SD/math.Sqrt(float64(n))
	reach := func(err float64) float64 { return studentTail(nu, err/2) * widening(n, 1-err) }
	usual, strict := reach(1-g.Usual), reach(1-g.Strict)
	differ := reach((1 - g.Strict) / float64(max(1, g.Family)))
	low, high := math.Log(1-g.Margin), math.Log(1+g.Margin)
	if se == 0 {
		return 1
	}
	return overScatter(nu, func(found float64) float64 {
		if usual*found*se <= math.Log1p(g.Width) {
			return 1
		}
		x, y := strict*found, differ*found
		within := max(0, normal((high-s.Mean)/se-x)-normal((low-s.Mean)/se+x))
		return min(1, within+normal(s.Mean/se-y)+normal(-s.Mean/se-y))
	})
}

// Narrowing is, by the number of blocks from [MinTested] to [MostNeeded], the greatest standard
// deviation of log ratios at which the interval is narrow enough with a chance of [Power].
type Narrowing []float64

// NewNarrowing works it out for a half width relative to the ratio.
func NewNarrowing(width, confidence float64) Narrowing {
	var all Narrowing
	for n := MinTested; n <= MostNeeded; n++ {
		nu := float64(n - 1)
		found := math.Sqrt(chiSquared(nu, quantileOfPower))
		sd := math.Log1p(width) * math.Sqrt(float64(n)) / (studentTail(nu, (1-confidence)/2) * widening(n, confidence) * found)
		if len(all) > 0 { // the bootstrap's first size is no better than Student's last
			sd = max(sd, all[len(all)-1])
		}
		all = append(all, sd)
	}
	return all
}

// Blocks is the least number of blocks that does for a scatter, 0 if [MostNeeded] does not.
func (w Narrowing) Blocks(sd float64) int {
	i := sort.SearchFloat64s(w, sd)
	if i == len(w) {
		return 0
	}
	return i + MinTested
}

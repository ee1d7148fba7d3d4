package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Two is the comparison of two independent samples on the scale of their
// logarithms, the second against the first: Welch's, which lets each have a
// variance of its own (Welch, Biometrika 34, 1947).
type Two struct {
	Diff float64    // of the means of the logs, second less first
	SE   float64    // standard error of Diff
	DF   float64    // degrees of freedom after Satterthwaite
	SD   [2]float64 // standard deviations of the logs
	Of   [2]float64 // degrees of freedom of SD
}

// TwoSample sets the values of b against those of a. Both hold positive values
// that are independent of each other and not paired. Fewer than MinTested of
// either are an error that wraps ErrFew, a value that has no logarithm one
// that wraps ErrDomain.
func TwoSample(a, b []float64) (Two, error) {
	x, y, err := twoLogs(a, b)
	if err != nil {
		return Two{}, err
	}
	return welch(x, y), nil
}

func twoLogs(a, b []float64) (x, y []float64, err error) {
	if x, err = logRatios("two samples", a, MinTested); err != nil {
		return nil, nil, err
	}
	y, err = logRatios("two samples", b, MinTested)
	return x, y, err
}

func welch(x, y []float64) Two {
	nx, ny := float64(len(x)), float64(len(y))
	sx, sy := StdDev(x), StdDev(y)
	vx, vy := sx*sx/nx, sy*sy/ny
	t := Two{Diff: Mean(y) - Mean(x), SE: math.Sqrt(vx + vy), SD: [2]float64{sx, sy}, Of: [2]float64{nx - 1, ny - 1}}
	if t.SE > 0 {
		t.DF = (vx + vy) * (vx + vy) / (vx*vx/(nx-1) + vy*vy/(ny-1))
	}
	return t
}

// Interval is the ratio of the geometric means with its two-sided interval.
func (t Two) Interval(confidence float64) Interval {
	tail := (1 - confidence) / 2
	return Interval{math.Exp(t.Diff), t.Lower(tail), t.Upper(tail)}
}

// Lower is the bound that lies above the true ratio with probability tail only.
func (t Two) Lower(tail float64) float64 { return math.Exp(t.Diff - t.reach(tail)) }

// Upper is the bound that lies below the true ratio with probability tail only.
func (t Two) Upper(tail float64) float64 { return math.Exp(t.Diff + t.reach(tail)) }

func (t Two) reach(tail float64) float64 {
	if t.SE == 0 {
		return 0
	}
	return t.SE * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: t.DF}.Quantile(1-tail)
}

// Above returns p of the one-sided hypothesis that the true ratio is at most
// the limit, and Below that it is at least that.
func (t Two) Above(limit float64) float64 { return t.beyond(t.Diff - math.Log(limit)) }

// Below is the mirror image of Above.
func (t Two) Below(limit float64) float64 { return t.beyond(math.Log(limit) - t.Diff) }

func (t Two) beyond(distance float64) float64 {
	switch {
	case t.SE > 0:
		return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: t.DF}.Survival(distance / t.SE)
	case distance > 0:
		return 0
	}
	return 1
}

const (
	// exactSplits is the most ways of splitting two samples that are all tried.
	exactSplits = 200_000
	// randomSplits is how many are drawn where there are more.
	randomSplits = 99_999
)

// SplitTest is the two-sided permutation test that two independent samples of
// positive values have one distribution. Its statistic is Welch's t of the
// logs, so that a difference in scatter alone does not pass for one of means
// (Janssen, Statistics & Probability Letters 36, 1997). Every split of the
// pooled values is tried or, above 200,000 of them, 99,999 random ones with a seed
// made from the data; p counts the split that was observed and is never 0.
func SplitTest(a, b []float64) (float64, error) {
	x, y, err := twoLogs(a, b)
	if err != nil {
		return 0, err
	}
	// Sorted, so that the order of launches has no part in the random splits.
	slices.Sort(x)
	slices.Sort(y)
	pooled := append(slices.Clone(x), y...)
	observed := statistic(x, y)
	left, right := make([]float64, len(x)), make([]float64, len(y))
	extreme, total := 0, 0
	try := func() {
		total++
		if statistic(left, right) >= observed {
			extreme++
		}
	}
	if binomial(len(pooled), len(x)) <= exactSplits {
		eachSplit(len(pooled), len(x), func(chosen []bool) {
			deal(pooled, chosen, left, right)
			try()
		})
		return float64(extreme) / float64(total), nil
	}
	extreme, total = 1, 1
	rng := rand.New(rand.NewPCG(seed(pooled), uint64(len(x))))
	for range randomSplits {
		rng.Shuffle(len(pooled), func(i, j int) { pooled[i], pooled[j] = pooled[j], pooled[i] })
		copy(left, pooled)
		copy(right, pooled[len(left):])
		try()
	}
	return float64(extreme) / float64(total), nil
}

// statistic is |t| rounded so that splits that are equal but for the order of
// addition compare as equal.
func statistic(x, y []float64) float64 {
	t := welch(x, y)
	switch {
	case t.SE > 1e-12:
		return math.Round(1e9*math.Abs(t.Diff)/t.SE) / 1e9
	case math.Abs(t.Diff) > 1e-12:
		return math.Inf(1)
	}
	return 0
}

func deal(values []float64, chosen []bool, left, right []float64) {
	i, j := 0, 0
	for k, c := range chosen {
		if c {
			left[i] = values[k]
			i++
		} else {
			right[j] = values[k]
			j++
		}
	}
}

// eachSplit calls f with every choice of k of n.
func eachSplit(n, k int, f func(chosen []bool)) {
	chosen := make([]bool, n)
	var choose func(from, left int)
	choose = func(from, left int) {
		if left == 0 {
			f(chosen)
			return
		}
		for i := from; i <= n-left; i++ {
			chosen[i] = true
			choose(i+1, left-1)
			chosen[i] = false
		}
	}
	choose(0, k)
}

func binomial(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

package stats

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with its confidence interval.
type Interval struct {
	Mid, Low, High float64
}

const (
	// MinPairs is the fewest ratios an interval is given for.
	MinPairs = 3
	// minResampled is the fewest values whose resamples have tails worth
	// reading: of 4 values there are 35 distinct resamples, 4 without spread.
	minResampled = 5
	// Resamples is the number of bootstrap resamples.
	Resamples = 9999
	// maxReach bounds the bootstrap's reach in units of Student's.
	maxReach = 2
)

// RatioInterval returns the geometric mean of the ratios and an interval that
// holds the true one with the given confidence, such as 0.95. The ratios are
// positive and independent; their order does not matter.
//
// It is the studentized bootstrap (bootstrap-t; Efron and Tibshirani 1993,
// section 12.5) of the mean of the logarithms. On each side its reach is kept
// between once and twice that of Student's t interval, and below 5 ratios,
// where resamples carry no information on the tails, it is Student's. BCa, and
// the hull of BCa and Student's, cover less in simulation (docs/methodology/statistics.md).
//
// Below MinPairs the error wraps ErrFew; for a ratio that is not positive and
// finite it wraps ErrDomain.
func RatioInterval(ratios []float64, confidence float64) (Interval, error) {
	if !(confidence > 0 && confidence < 1) {
		return Interval{}, fmt.Errorf("interval: confidence %g: %w", confidence, ErrDomain)
	}
	x, err := logRatios("interval", ratios, MinPairs)
	if err != nil {
		return Interval{}, err
	}
	slices.Sort(x)
	i := meanInterval(x, confidence, Resamples)
	return Interval{math.Exp(i.Mid), math.Exp(i.Low), math.Exp(i.High)}, nil
}

// meanInterval is the interval of the mean of three or more sorted values.
func meanInterval(x []float64, confidence float64, resamples int) Interval {
	n := float64(len(x))
	m := Mean(x)
	if x[0] == x[len(x)-1] {
		return Interval{x[0], x[0], x[0]}
	}
	se := standardError(x)
	tail := (1 - confidence) / 2
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - tail)
	below, above := t, t
	if len(x) >= minResampled {
		ts := studentized(x, m, resamples)
		slices.Sort(ts)
		// The upper tail of t bounds the mean from below, and the lower from above.
		below = min(max(orderStatistic(ts, 1-tail), t), maxReach*t)
		above = min(max(-orderStatistic(ts, tail), t), maxReach*t)
	}
	return Interval{m, m - below*se, m + above*se}
}

// studentized returns (mean* - m) / se* of each resample of x; a resample
// without spread is infinitely far out.
func studentized(x []float64, m float64, resamples int) []float64 {
	rng := rand.New(rand.NewPCG(seed(x), uint64(len(x))))
	n := float64(len(x))
	ts := make([]float64, resamples)
	y := make([]float64, len(x))
	for b := range ts {
		var sum float64
		for i := range y {
			y[i] = x[rng.IntN(len(x))]
			sum += y[i]
		}
		mean := sum / n
		var squares float64
		for _, v := range y {
			squares += (v - mean) * (v - mean)
		}
		se := math.Sqrt(squares / (n - 1) / n)
		if se > 0 {
			ts[b] = (mean - m) / se
		} else {
			ts[b] = math.Inf(1)
			if mean < m {
				ts[b] = math.Inf(-1)
			}
		}
	}
	return ts
}

// orderStatistic is the smallest value that at least a share p is not above:
// no interpolation, since values may be infinite.
func orderStatistic(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// seed is made from the values, so that equal data give an equal interval.
func seed(x []float64) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, v := range x {
		bits := math.Float64bits(v)
		for i := range b {
			b[i] = byte(bits >> (8 * i))
		}
		h.Write(b[:])
	}
	return h.Sum64()
}

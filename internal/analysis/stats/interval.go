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
	MinPairs = 2
	// MinTested is the fewest values, of each side, that a test or an interval of
	// another kind is made of.
	MinTested = 3
	// minResampled is the fewest values whose resamples have tails worth
	// reading: of 4 values there are 35 distinct resamples, 4 without spread.
	minResampled = 5
	// Resamples is the number of bootstrap resamples.
	Resamples = 9999
	// maxReach bounds the bootstrap's reach in units of Student's.
	maxReach = 2
)

// Ratios are positive and independent ratios, of which a rule may want the
// interval at several levels.
type Ratios struct {
	mid, se float64 // of the logarithms
	n       int
	same    bool      // all are equal
	ts      []float64 // studentized means of the resamples, ascending; nil where they are too few
}

// NewRatios takes two ratios or more; their order does not matter. Below MinPairs the
// error wraps ErrFew; for a ratio that is not positive and finite it wraps ErrDomain.
func NewRatios(ratios []float64) (*Ratios, error) {
	x, err := logRatios("interval", ratios, MinPairs)
	if err != nil {
		return nil, err
	}
	slices.Sort(x)
	return newRatios(x, Resamples), nil
}

// newRatios takes sorted logarithms.
func newRatios(x []float64, resamples int) *Ratios {
	r := &Ratios{mid: Mean(x), se: standardError(x), n: len(x), same: x[0] == x[len(x)-1]}
	if r.same {
		r.mid = x[0]
	} else if len(x) >= minResampled {
		r.ts = studentized(x, r.mid, resamples)
		slices.Sort(r.ts)
	}
	return r
}

// Interval returns the geometric mean of the ratios and an interval that holds
// the true one with the given confidence, such as 0.95.
//
// It is the studentized bootstrap (bootstrap-t; Efron and Tibshirani 1993,
// section 12.5) of the mean of the logarithms. On each side its reach is kept
// between once and twice that of Student's t interval, and below 5 ratios,
// where resamples carry no information on the tails, it is Student's. BCa, and
// the hull of BCa and Student's, cover less in simulation (docs/methodology/statistics.md).
func (r *Ratios) Interval(confidence float64) (Interval, error) {
	if !(confidence > 0 && confidence < 1) {
		return Interval{}, fmt.Errorf("interval: confidence %g: %w", confidence, ErrDomain)
	}
	i := r.ofMean(confidence)
	return Interval{math.Exp(i.Mid), math.Exp(i.Low), math.Exp(i.High)}, nil
}

// ofMean is the interval of the mean of the logarithms.
func (r *Ratios) ofMean(confidence float64) Interval {
	if r.same {
		return Interval{r.mid, r.mid, r.mid}
	}
	tail := (1 - confidence) / 2
	t := r.student().Quantile(1 - tail)
	below, above := t, t
	if r.ts != nil {
		// The upper tail of t bounds the mean from below, and the lower from above.
		below = min(max(orderStatistic(r.ts, 1-tail), t), maxReach*t)
		above = min(max(-orderStatistic(r.ts, tail), t), maxReach*t)
	}
	return Interval{r.mid, r.mid - below*r.se, r.mid + above*r.se}
}

func (r *Ratios) student() distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(r.n - 1)}
}

// P returns the two-sided p value that belongs to the interval: the largest error
// at which that still holds 1. The interval with confidence c excludes 1 where P is
// below 1-c, up to the resolution of the resamples. Equal ratios have P 1 if they
// are 1, and 0 otherwise.
func (r *Ratios) P() float64 {
	switch {
	case r.mid == 0:
		return 1
	case r.same:
		return 0
	}
	reach := math.Abs(r.mid) / r.se
	p := 2 * r.student().Survival(reach)
	if r.ts == nil {
		return p
	}
	beyond := 0
	for _, v := range r.ts {
		if r.mid > 0 && v >= reach || r.mid < 0 && v <= -reach {
			beyond++
		}
	}
	// As the interval: between Student's reach and twice that.
	return max(p, min(2*float64(beyond)/float64(len(r.ts)), 2*r.student().Survival(reach/maxReach)))
}

// Over returns the ratios divided by a positive number. They share the resamples, which are of the
// scatter alone.
func (r *Ratios) Over(by float64) *Ratios {
	over := *r
	over.mid -= math.Log(by)
	return &over
}

// RatioInterval returns the interval of ratios: [Ratios.Interval] for who wants one.
func RatioInterval(ratios []float64, confidence float64) (Interval, error) {
	r, err := NewRatios(ratios)
	if err != nil {
		return Interval{}, err
	}
	return r.Interval(confidence)
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

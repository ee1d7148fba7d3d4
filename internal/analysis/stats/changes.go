package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Stretch is a part of a series between two changes of its mean.
type Stretch struct {
	From, To int // the first value, and the one after the last
	Mean     float64
}

const (
	// MinSeries is the fewest values of a series in which changes are looked for.
	MinSeries = 10
	// leastStretch is the fewest points of a stretch: what is shorter is a spike, not a level.
	leastStretch = 3
	// mostPoints bounds the points that are looked at. Of a longer series neighbours are averaged.
	mostPoints = 50
	// changeOrders is the number of random orders that a change is set against.
	changeOrders = 399
)

// Stretches cuts a series where its mean changes. Two that follow each other differ by more than the
// tolerance, a share of the mean of all.
//
// It is circular binary segmentation (Olshen et al., Biostatistics 5, 2004, 557): the series is cut
// around the part whose mean differs most from the rest's, if at most a share level of random orders
// of its values have a part that differs as much; the parts are cut likewise. So in values whose
// order is chance, whatever their distribution, a change is seen in at most that share of series.
// Then neighbours are joined that differ by no more than the tolerance, or not surely.
//
// Below MinSeries values the error wraps ErrFew, for a value that is not finite ErrDomain.
func Stretches(values []float64, level, tolerance float64) ([]Stretch, error) {
	if len(values) < MinSeries {
		return nil, fmt.Errorf("changes of a series: %d values, at least %d needed: %w", len(values), MinSeries, ErrFew)
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("changes of a series: %g: %w", v, ErrDomain)
		}
	}
	each := (len(values) + mostPoints - 1) / mostPoints
	points := make([]float64, 0, mostPoints)
	for part := range slices.Chunk(values, each) {
		if len(part) == each || len(points) == 0 {
			points = append(points, Mean(part))
		}
	}
	s := segmentation{points, level, rand.New(rand.NewPCG(seed(values), uint64(len(values))))}
	cuts := s.joined(s.cuts(0, len(points)), tolerance*math.Abs(Mean(values)))
	var all []Stretch
	for i, from := range cuts[:len(cuts)-1] {
		to := cuts[i+1] * each
		if i == len(cuts)-2 {
			to = len(values)
		}
		all = append(all, Stretch{from * each, to, Mean(values[from*each : to])})
	}
	return all, nil
}

// segmentation cuts a series of points.
type segmentation struct {
	points []float64
	level  float64
	rng    *rand.Rand
}

// cuts are where the points from the one to before the other are cut, with both ends.
func (s *segmentation) cuts(from, to int) []int {
	x := centred(s.points[from:to])
	low, high, most := farthestPart(x)
	if slices.Min(x) == slices.Max(x) || most == 0 || !s.rare(x, func() float64 { _, _, m := farthestPart(x); return m }, most) {
		return []int{from, to}
	}
	all := []int{from}
	for _, end := range []int{from + low, from + high, to} {
		if last := all[len(all)-1]; end > last {
			all = append(all, s.cuts(last, end)[1:]...)
		}
	}
	return all
}

// rare says whether at most a share level of random orders of x have a statistic of most. It
// leaves x in another order.
func (s *segmentation) rare(x []float64, statistic func() float64, most float64) bool {
	allowed, seen := int(s.level*(changeOrders+1))-1, 0
	for range changeOrders {
		s.rng.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
		if statistic() >= most*(1-1e-9) {
			if seen++; seen > allowed {
				return false
			}
		}
	}
	return true
}

// farthestPart is the part of x, whose mean is 0, that differs most from the rest, and the sum of
// squares that this explains, by the number of values; 0 if no part is long enough.
func farthestPart(x []float64) (low, high int, most float64) {
	n := len(x)
	for i := 0; i < n; i++ {
		if i > 0 && i < leastStretch {
			continue
		}
		sum := 0.0
		for j := i; j < n; j++ {
			sum += x[j]
			in, left := j+1-i, n-1-j
			if in < leastStretch || in == n || left > 0 && left < leastStretch || n-in < leastStretch {
				continue
			}
			if explained := sum * sum / float64(in*(n-in)); explained > most {
				low, high, most = i, j+1, explained
			}
		}
	}
	return low, high, most
}

// joined takes out the cuts between parts that differ by no more than the tolerance or, in
// random orders of the two, as much in more than a share level. The least difference goes first.
func (s *segmentation) joined(cuts []int, tolerance float64) []int {
	for len(cuts) > 2 {
		at, least := 0, math.Inf(1)
		for i := 1; i < len(cuts)-1; i++ {
			a, b := s.points[cuts[i-1]:cuts[i]], s.points[cuts[i]:cuts[i+1]]
			apart := math.Abs(Mean(a) - Mean(b))
			if !s.differ(a, b) {
				apart = 0
			}
			if apart < least {
				at, least = i, apart
			}
		}
		if least > tolerance {
			break
		}
		cuts = slices.Delete(cuts, at, at+1)
	}
	return cuts
}

// differ says whether the means of two neighbours differ by more than their order allows.
func (s *segmentation) differ(a, b []float64) bool {
	x := centred(slices.Concat(a, b))
	apart := func() float64 { return math.Abs(Mean(x[:len(a)]) * float64(len(a))) }
	most := apart()
	return most > 0 && s.rare(x, apart, most)
}

// centred are the values around their mean.
func centred(values []float64) []float64 {
	x, middle := slices.Clone(values), Mean(values)
	for i := range x {
		x[i] -= middle
	}
	return x
}

// AtLeast returns the chance that k or more of n happen that each happen with probability p.
func AtLeast(k, n int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	return distuv.Binomial{N: float64(n), P: p}.Survival(float64(k - 1))
}

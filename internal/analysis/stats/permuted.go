package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// MinPermuted is the fewest values in which what came before them can be seen to matter.
	MinPermuted = 5
	// exactPermuted is the most values of which all orders are enumerated: 5040.
	exactPermuted = 7
	// mostPermuted bounds the random orders above that, and permutedWork the values of all of them.
	mostPermuted, leastPermuted, permutedWork = 1999, 99, 4_000_000
)

// GroupsMatter returns the p of a permutation test that the group a value is in does not matter: of
// all ways to give the values to the groups, the share in which the groups' means lie at least as far
// from the mean of all. It holds where chance gave each value its group, whatever the values'
// distribution is. Of more than 7 values p is (b+1)/(m+1) of m random orders, as in [SignFlip].
//
// Below 5 values, with a single group, or with a group for each value, the error wraps ErrFew; for
// one that is not finite it wraps ErrDomain.
func GroupsMatter(values []float64, group []int) (float64, error) {
	groups := 0
	for _, g := range group {
		groups = max(groups, g+1)
	}
	if groups < 2 || groups >= len(values) {
		return 0, fmt.Errorf("test of groups: %d groups of %d values: %w", groups, len(values), ErrFew)
	}
	n := make([]float64, groups)
	for _, g := range group {
		n[g]++
	}
	sums := make([]float64, groups)
	return permuted("test of groups", values, func(x []float64) float64 {
		clear(sums)
		for i, v := range x {
			sums[group[i]] += v
		}
		var far float64
		for g, sum := range sums {
			if n[g] > 0 {
				far += sum * sum / n[g]
			}
		}
		return far
	})
}

// PlaceMatters returns the p of a permutation test that a value does not grow or fall with its place,
// as [GroupsMatter] does, and by how much the value grows over a whole unit of places, by least
// squares.
func PlaceMatters(values, place []float64) (growth, p float64, err error) {
	middle, width := Mean(place), 0.0
	for _, at := range place {
		width += (at - middle) * (at - middle)
	}
	if width == 0 {
		return 0, 0, fmt.Errorf("test of places: all are the same: %w", ErrFew)
	}
	slope := func(x []float64) (sum float64) {
		for i, v := range x {
			sum += v * (place[i] - middle)
		}
		return sum / width
	}
	p, err = permuted("test of places", values, func(x []float64) float64 { return math.Abs(slope(x)) })
	return slope(values), p, err
}

// permuted is the share of the orders of the values whose statistic is at least as far as that of the
// order they have. The statistic gets the values around their mean.
func permuted(what string, values []float64, statistic func([]float64) float64) (float64, error) {
	if len(values) < MinPermuted {
		return 0, fmt.Errorf("%s: %d values: %w", what, len(values), ErrFew)
	}
	x, middle := slices.Clone(values), Mean(values)
	for i := range x {
		if x[i] -= middle; math.IsNaN(x[i]) || math.IsInf(x[i], 0) {
			return 0, fmt.Errorf("%s: %g: %w", what, values[i], ErrDomain)
		}
	}
	// Orders that tie with the one observed must not miss it by rounding.
	far := statistic(x) * (1 - 1e-9)
	if len(x) <= exactPermuted {
		b, all := 0, 0
		orders(x, len(x), func() {
			all++
			if statistic(x) >= far {
				b++
			}
		})
		return float64(b) / float64(all), nil
	}
	m := min(max(permutedWork/len(x), leastPermuted), mostPermuted)
	rng := rand.New(rand.NewPCG(seed(x), uint64(len(x))))
	b := 0
	for range m {
		rng.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
		if statistic(x) >= far {
			b++
		}
	}
	return float64(b+1) / float64(m+1), nil
}

// orders calls f for each order of the first n of x (Heap, Computer Journal 6, 1963, 293).
func orders(x []float64, n int, f func()) {
	if n <= 1 {
		f()
		return
	}
	for i := range n {
		orders(x, n-1, f)
		if j := n - 1; i < j {
			if n%2 == 0 {
				x[i], x[j] = x[j], x[i]
			} else {
				x[0], x[j] = x[j], x[0]
			}
		}
	}
}

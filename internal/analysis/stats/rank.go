package stats

import (
	"math"
	"slices"
)

// Nearest is the smallest of the values that is not below the share p of them,
// 0 < p <= 1: the nearest rank, which is always one of them. NaN of none.
func Nearest(x []float64, p float64) float64 {
	if len(x) == 0 || !(p > 0 && p <= 1) {
		return math.NaN()
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))-1e-9))-1)]
}

package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the p values adjusted for their number, in the order given:
// reporting those at or below a level keeps the chance that any of them is
// false at that level, however they depend on each other (Holm, Scandinavian
// Journal of Statistics 6, 1979, 65). A NaN stands for a test that could not be
// made: it stays NaN and does not count.
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(len(order)-rank)*p[i]))
		out[i] = least
	}
	return out
}

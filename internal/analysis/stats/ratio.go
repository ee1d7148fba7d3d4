package stats

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Ratio is value over base of one block.
type Ratio struct {
	Block int
	Value float64
}

// PairedRatios divides value by base in every block that has both, in block
// order. A value that is not positive and finite has no ratio: it is an error
// that wraps ErrDomain and names the block.
func PairedRatios(value, base map[int]float64) ([]Ratio, error) {
	var out []Ratio
	for _, block := range slices.Sorted(maps.Keys(value)) {
		b, ok := base[block]
		if !ok {
			continue
		}
		v := value[block]
		for _, x := range []float64{v, b} {
			if !(x > 0) || math.IsInf(x, 1) {
				return nil, fmt.Errorf("ratio of block %d: %g / %g: %w", block, v, b, ErrDomain)
			}
		}
		if r := v / b; r > 0 && !math.IsInf(r, 1) {
			out = append(out, Ratio{block, r})
			continue
		}
		return nil, fmt.Errorf("ratio of block %d: %g / %g: %w", block, v, b, ErrDomain)
	}
	return out, nil
}

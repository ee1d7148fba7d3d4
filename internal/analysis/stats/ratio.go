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

// Together is what each block's launches of one side count as: their geometric mean, the
// value itself of one. Launches with a value that is not positive and finite have none: they
// count as that value, for [PairedRatios] to name.
func Together(launches map[int][]float64) map[int]float64 {
	out := make(map[int]float64, len(launches))
	for block, values := range launches {
		if len(values) == 0 {
			continue
		}
		out[block] = values[0]
		if len(values) == 1 {
			continue
		}
		mean, err := GeoMean(values)
		if err != nil {
			mean = values[slices.IndexFunc(values, func(v float64) bool { return !(v > 0) || math.IsInf(v, 1) })]
		}
		out[block] = mean
	}
	return out
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

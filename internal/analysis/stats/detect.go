package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Detectable returns the smallest change that as many ratios with the same scatter would
// find with the given power, 0.9 for nine times in ten: as a share, 0.05 for 5 %. To find
// is to have an interval such as theirs, i, leave out 1. It is the longer side of that
// interval in logarithms and t(power) standard errors, so it is never less than what the
// interval leaves open.
//
// Below MinPairs the error wraps ErrFew; for a ratio or a bound that is not positive and finite,
// and for a power that is no probability, it wraps ErrDomain.
func Detectable(i Interval, ratios []float64, power float64) (float64, error) {
	if !(power > 0 && power < 1) {
		return 0, fmt.Errorf("detectable change: power %g: %w", power, ErrDomain)
	}
	if !(0 < i.Low && i.Low <= i.Mid && i.Mid <= i.High && !math.IsInf(i.High, 1)) {
		return 0, fmt.Errorf("detectable change: interval %g (%g to %g): %w", i.Mid, i.Low, i.High, ErrDomain)
	}
	x, err := logRatios("detectable change", ratios, MinPairs)
	if err != nil {
		return 0, err
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(power)
	return math.Expm1(math.Log(max(i.High/i.Mid, i.Mid/i.Low)) + t*standardError(x)), nil
}

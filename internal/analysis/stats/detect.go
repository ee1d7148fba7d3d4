package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Detectable returns the smallest change that as many ratios with the same scatter would
// find with the given power, 0.9 for nine times in ten: as a share, 0.05 for 5 %. To find
// is to have the interval of [RatioInterval] leave out 1. It is half that interval's width
// in logarithms and t(power) standard errors.
//
// Below MinTested the error wraps ErrFew; for a ratio that is not positive and finite, and for a
// confidence or power that is no probability, it wraps ErrDomain.
func Detectable(ratios []float64, confidence, power float64) (float64, error) {
	if !(power > 0 && power < 1) {
		return 0, fmt.Errorf("detectable change: power %g: %w", power, ErrDomain)
	}
	i, err := RatioInterval(ratios, confidence)
	if err != nil {
		return 0, fmt.Errorf("detectable change: %w", err)
	}
	x, err := logRatios("detectable change", ratios, MinTested)
	if err != nil {
		return 0, err
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(power)
	return math.Expm1(math.Log(i.High/i.Low)/2 + t*standardError(x)), nil
}

package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Equivalence returns the p of the hypothesis that the true ratio lies outside
// [1-margin, 1+margin], 0 < margin < 1: the larger p of the two one-sided tests
// of Schuirmann (Journal of Pharmacokinetics and Biopharmaceutics 15, 1987,
// 657), by Student's t on the logarithms of the ratios. A small p means
// equivalent; a large one means nothing. Ratios that are all equal give 0 or 1,
// by the side of the bound that they lie on.
//
// Below MinTested the error wraps ErrFew; for a margin outside, or a ratio that
// is not positive and finite, it wraps ErrDomain.
func Equivalence(ratios []float64, margin float64) (float64, error) {
	if !(margin > 0 && margin < 1) {
		return 0, fmt.Errorf("equivalence test: margin %g: %w", margin, ErrDomain)
	}
	x, err := logRatios("equivalence test", ratios, MinTested)
	if err != nil {
		return 0, err
	}
	m, se := Mean(x), standardError(x)
	toLow, toHigh := m-math.Log(1-margin), math.Log(1+margin)-m
	if se == 0 {
		if min(toLow, toHigh) > 0 {
			return 0, nil
		}
		return 1, nil
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}
	return t.Survival(min(toLow, toHigh) / se), nil
}

package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Line is y = Intercept + Slope * x.
type Line struct{ Slope, Intercept float64 }

// FitLine returns the line of least squares. Of fewer than two different x
// there is none, and the error wraps ErrFew; of values that are not finite it wraps ErrDomain.
func FitLine(x, y []float64) (Line, error) {
	if len(x) != len(y) {
		return Line{}, fmt.Errorf("line: %d x and %d y: %w", len(x), len(y), ErrDomain)
	}
	for _, v := range slices.Concat(x, y) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Line{}, fmt.Errorf("line: %g: %w", v, ErrDomain)
		}
	}
	if len(x) < 2 || slices.Min(x) == slices.Max(x) {
		return Line{}, fmt.Errorf("line: of one x: %w", ErrFew)
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	return Line{slope, intercept}, nil
}

// MeanInterval returns the mean of independent values and an interval that
// holds the true one with the given confidence, by the method of
// [RatioInterval] without the logarithm. Below MinTested values the error wraps
// ErrFew; for a value that is not finite it wraps ErrDomain.
func MeanInterval(values []float64, confidence float64) (Interval, error) {
	if !(confidence > 0 && confidence < 1) {
		return Interval{}, fmt.Errorf("interval: confidence %g: %w", confidence, ErrDomain)
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Interval{}, fmt.Errorf("interval: %g: %w", v, ErrDomain)
		}
	}
	if len(values) < MinTested {
		return Interval{}, fmt.Errorf("interval of %d values: %w", len(values), ErrFew)
	}
	x := slices.Sorted(slices.Values(values))
	return newRatios(x, Resamples).ofMean(confidence), nil
}

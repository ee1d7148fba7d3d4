package stats

import (
	"fmt"
	"math"
	"slices"
)

// Mean returns the arithmetic mean, NaN of no values.
func Mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// StdDev returns the sample standard deviation (divisor n-1), NaN below two values.
func StdDev(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	m := Mean(x)
	var sum float64
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// standardError returns that of the mean of two or more values. It is exactly 0
// of equal ones, whose mean may be off by rounding.
func standardError(x []float64) float64 {
	if slices.Min(x) == slices.Max(x) {
		return 0
	}
	return StdDev(x) / math.Sqrt(float64(len(x)))
}

// GeoMean returns the geometric mean of positive values, or an error that
// wraps ErrFew or ErrDomain.
func GeoMean(x []float64) (float64, error) {
	logs, err := logRatios("geometric mean", x, 1)
	if err != nil {
		return 0, err
	}
	return math.Exp(Mean(logs)), nil
}

// logRatios returns the natural logarithms of at least least positive, finite
// values; an error begins with what they are for.
func logRatios(what string, x []float64, least int) ([]float64, error) {
	if len(x) < least {
		return nil, fmt.Errorf("%s: %w: %d, at least %d needed", what, ErrFew, len(x), least)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%s: %w: %g", what, ErrDomain, v)
		}
		out[i] = math.Log(v)
	}
	return out, nil
}

// Median returns the middle value, the mean of the two middle ones of an even
// number, NaN of none.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Quantile returns the p-quantile, 0 <= p <= 1, by linear interpolation
// between order statistics: type 7 of Hyndman and Fan, The American
// Statistician 50 (1996) 361. It is NaN of no values or of a p outside.
func Quantile(x []float64, p float64) float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	return quantileSorted(sorted, p)
}

func quantileSorted(x []float64, p float64) float64 {
	if len(x) == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	h := p * float64(len(x)-1)
	i := int(h)
	if i+1 >= len(x) || h == float64(i) {
		return x[i]
	}
	return x[i] + (h-float64(i))*(x[i+1]-x[i])
}

// MAD returns the median absolute deviation from the median, not scaled: times
// 1.4826 it estimates the standard deviation of normal data.
func MAD(x []float64) float64 {
	m := Median(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	return Median(d)
}

// Outliers returns the indices of values more than 10 scaled MADs from the
// median. Below five values, or where more than half are equal, there are none
// to be told. Of five normal values one is taken for an outlier in 3 % of all
// samples, of six or more in 1.4 % at most.
func Outliers(x []float64) []int {
	spread := 1.4826 * MAD(x)
	if len(x) < 5 || !(spread > 0) {
		return nil
	}
	m := Median(x)
	var out []int
	for i, v := range x {
		if math.Abs(v-m) > 10*spread {
			out = append(out, i)
		}
	}
	return out
}

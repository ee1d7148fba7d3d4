package overhead

import (
	"tare/internal/result"
	"tare/internal/stats"
)

// Compare gives the interval of value over base, paired by block, and the
// verdict at the margin: what the report says of an effect, for whoever checks
// the report itself. The verdict is Refused where there is an error.
func Compare(value, base map[int]float64, margin float64) (stats.Interval, result.Verdict, error) {
	return CompareAt(value, base, confidence, margin)
}

// CompareAt does so at another level of confidence, such as that of a look of a
// stopping rule.
func CompareAt(value, base map[int]float64, level, margin float64) (stats.Interval, result.Verdict, error) {
	_, interval, v, err := compare(value, base, level, margin)
	return interval, v, err
}

// compare does so at any level of confidence. The ratios are returned also
// where they are too few for an interval.
func compare(value, base map[int]float64, level, margin float64) ([]stats.Ratio, stats.Interval, result.Verdict, error) {
	ratios, err := stats.PairedRatios(value, base)
	if err != nil {
		return nil, stats.Interval{}, result.Refused, err
	}
	interval, err := stats.RatioInterval(numbers(ratios), level)
	if err != nil {
		return ratios, stats.Interval{}, result.Refused, err
	}
	return ratios, interval, verdict(interval, margin), nil
}

func numbers(ratios []stats.Ratio) []float64 {
	x := make([]float64, len(ratios))
	for i, r := range ratios {
		x[i] = r.Value
	}
	return x
}

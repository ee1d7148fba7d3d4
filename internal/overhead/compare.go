package overhead

import "tare/internal/stats"

// Compare gives the interval of value over base, paired by block, and the
// verdict at the margin: what the report says of an effect, for whoever checks
// the report itself. The verdict is Refused where there is an error.
func Compare(value, base map[int]float64, margin float64) (stats.Interval, Verdict, error) {
	ratios, err := stats.PairedRatios(value, base)
	if err != nil {
		return stats.Interval{}, Refused, err
	}
	x := make([]float64, len(ratios))
	for i, r := range ratios {
		x[i] = r.Value
	}
	interval, err := stats.RatioInterval(x, confidence)
	if err != nil {
		return stats.Interval{}, Refused, err
	}
	return interval, verdict(interval, margin), nil
}

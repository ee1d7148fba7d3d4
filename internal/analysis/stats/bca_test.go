package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// bca returns the geometric mean of the ratios and its bias-corrected and
// accelerated bootstrap interval (Efron, JASA 82, 1987, 171): percentiles of
// the resampled means of the logarithms, moved by what resampling shows of bias
// and leaving out one ratio at a time shows of skew.
//
// It is the common choice, here to be compared with: no percentile of resampled
// means lies outside the ratios, so that of 5 normal ones its 95 % interval
// holds the truth 83 % of the time (docs/methodology/statistics.md). RatioInterval is the
// one to report. The errors are those of RatioInterval.
func bca(ratios []float64, confidence float64) (Interval, error) {
	if !(confidence > 0 && confidence < 1) {
		return Interval{}, fmt.Errorf("BCa interval: confidence %g: %w", confidence, ErrDomain)
	}
	x, err := logRatios("BCa interval", ratios, MinTested)
	if err != nil {
		return Interval{}, err
	}
	slices.Sort(x)
	i := meanBCa(x, confidence, Resamples)
	return Interval{math.Exp(i.Mid), math.Exp(i.Low), math.Exp(i.High)}, nil
}

// meanBCa is the BCa interval of the mean of three or more sorted values.
func meanBCa(x []float64, confidence float64, resamples int) Interval {
	if x[0] == x[len(x)-1] {
		return Interval{x[0], x[0], x[0]}
	}
	m := Mean(x)
	means := resampledMeans(x, resamples)
	slices.Sort(means)
	below := 0.0
	for _, v := range means {
		switch {
		case v < m:
			below++
		case v == m:
			below += 0.5
		}
	}
	// Half a resample stands for the other side where there is none.
	all := float64(resamples)
	bias := distuv.UnitNormal.Quantile(min(max(below, 0.5), all-0.5) / all)
	skew := acceleration(x, m)
	at := func(p float64) float64 {
		z := bias + distuv.UnitNormal.Quantile(p)
		return quantileSorted(means, distuv.UnitNormal.CDF(bias+z/(1-skew*z)))
	}
	tail := (1 - confidence) / 2
	return Interval{m, at(tail), at(1 - tail)}
}

// acceleration is a sixth of the skewness of the means of all values but one.
// That of the mean without x[i] differs from m by (m-x[i])/(n-1), a factor that
// cancels.
func acceleration(x []float64, m float64) float64 {
	var squares, cubes float64
	for _, v := range x {
		d := v - m
		squares += d * d
		cubes += d * d * d
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

func resampledMeans(x []float64, resamples int) []float64 {
	rng := rand.New(rand.NewPCG(seed(x), uint64(len(x))))
	means := make([]float64, resamples)
	for b := range means {
		var sum float64
		for range x {
			sum += x[rng.IntN(len(x))]
		}
		means[b] = sum / float64(len(x))
	}
	return means
}

package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// Power is the chance with which the numbers of blocks that are recommended
	// bring about what they are recommended for.
	Power = 0.9
	// needRange is the confidence of the range of a [Need].
	needRange = 0.8
	// MostNeeded is the largest number worth recommending.
	MostNeeded = 1000
)

// Need is how many blocks, launches or runs give something a chance of [Power]
// if the estimate stays as it is: N if the scatter is what was found, from Low
// to High if it lies anywhere in its own 80 % interval. 0 stands for more than
// [MostNeeded].
type Need struct{ N, Low, High int }

// Scatter is what is known of the logarithms of paired ratios.
type Scatter struct {
	Mean, SD float64
	N        int // ratios that both were estimated from
}

// ScatterOf estimates it from three or more ratios. Fewer are an error that
// wraps ErrFew, a ratio that is not positive and finite one that wraps ErrDomain.
func ScatterOf(ratios []float64) (Scatter, error) {
	x, err := logRatios("scatter", ratios, MinTested)
	if err != nil {
		return Scatter{}, err
	}
	return Scatter{Mean(x), StdDev(x), len(x)}, nil
}

// ToDiffer returns how many blocks make the interval of [RatioInterval] exclude 1.
func (s Scatter) ToDiffer(confidence float64) Need {
	return s.needed(confidence, func(reach, se float64) float64 {
		return normal(s.Mean/se-reach) + normal(-s.Mean/se-reach)
	})
}

// ToLieWithin returns how many blocks make the interval lie within 1 ± margin.
func (s Scatter) ToLieWithin(margin, confidence float64) Need {
	low, high := math.Log(1-margin), math.Log(1+margin)
	return s.needed(confidence, func(reach, se float64) float64 {
		return max(0, normal((high-s.Mean)/se-reach)-normal((low-s.Mean)/se+reach))
	})
}

// ToBeNarrow returns how many blocks make the interval reach at most width to
// either side, as a share of the ratio.
func (s Scatter) ToBeNarrow(width, confidence float64) Need {
	return s.needed(confidence, func(reach, se float64) float64 {
		if reach*se <= math.Log1p(width) {
			return 1
		}
		return 0
	})
}

// needed asks for the least number of blocks at which chance is Power. Chance is
// given how far the interval reaches, in true standard errors, and that error.
func (s Scatter) needed(confidence float64, chance func(reach, se float64) float64) Need {
	tail := (1 - confidence) / 2
	return need(s.SD, float64(s.N-1), func(n int, sd float64) float64 {
		nu, se := float64(n-1), sd/math.Sqrt(float64(n))
		reach := studentTail(nu, tail) * widening(n, confidence)
		return overScatter(nu, func(found float64) float64 { return chance(reach*found, se) })
	})
}

// widening is how much farther than Student's interval that of [RatioInterval]
// reaches with so many ratios, in the mean over normal ones (TestWidening).
func widening(n int, confidence float64) float64 {
	if n < minResampled {
		return 1
	}
	usual := 1/float64(n) + 4/float64(n*n) // at 95 %
	return min(maxReach, 1+usual*math.Log(1-confidence)/math.Log(0.05))
}

// Needed is how many values each of two samples with the standard deviations of
// t would need for a one-sided bound with the tail to come nearer than distance,
// on the scale of the logs.
func (t Two) Needed(distance, tail float64) Need {
	v := [2]float64{t.SD[0] * t.SD[0], t.SD[1] * t.SD[1]}
	sum := v[0] + v[1]
	known := math.Inf(1) // degrees of freedom of the scatter found
	if sum > 0 {
		known = sum * sum / (v[0]*v[0]/t.Of[0] + v[1]*v[1]/t.Of[1])
	}
	return need(math.Sqrt(sum), known, func(n int, sd float64) float64 {
		nu := float64(n - 1)
		if sum > 0 {
			nu *= sum * sum / (v[0]*v[0] + v[1]*v[1])
		}
		reach, se := studentTail(nu, tail), sd/math.Sqrt(float64(n))
		return overScatter(nu, func(found float64) float64 { return normal(distance/se - reach*found) })
	})
}

// need is the least n with a chance of Power, by the standard deviation that was
// found with so many degrees of freedom and by the bounds of its own interval.
func need(sd, df float64, chance func(n int, sd float64) float64) Need {
	least := func(sd float64) int {
		low, high := MinTested, MostNeeded
		if sd == 0 {
			return low
		}
		if chance(high, sd) < Power {
			return 0
		}
		for low < high {
			if mid := (low + high) / 2; chance(mid, sd) >= Power {
				high = mid
			} else {
				low = mid + 1
			}
		}
		return low
	}
	z := distuv.UnitNormal.Quantile((1 + needRange) / 2)
	return Need{least(sd), least(sd / math.Sqrt(chiSquared(df, z))), least(sd / math.Sqrt(chiSquared(df, -z)))}
}

func studentTail(nu, tail float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}.Quantile(1 - tail)
}

// quantileOfPower is the normal quantile of [Power].
var quantileOfPower = distuv.UnitNormal.Quantile(Power)

func normal(x float64) float64 { return distuv.UnitNormal.CDF(x) }

// overScatter is the mean of f over what a standard deviation of nu degrees of
// freedom may be found to be, as a multiple of the true one.
func overScatter(nu float64, f func(found float64) float64) float64 {
	const points = 100
	sum := 0.0
	for i := range points {
		z := distuv.UnitNormal.Quantile((float64(i) + 0.5) / points)
		sum += f(math.Sqrt(chiSquared(nu, z)))
	}
	return sum / points
}

// chiSquared is the quantile of chi squared over its degrees of freedom where
// the normal distribution has z (Wilson and Hilferty, PNAS 17, 1931, 684).
func chiSquared(nu, z float64) float64 {
	if math.IsInf(nu, 1) {
		return 1
	}
	c := 2 / (9 * nu)
	return math.Pow(max(1-c+z*math.Sqrt(c), 0.02), 3)
}

// AtLeast raises what is below n to n: what there is already was not enough.
func (n Need) AtLeast(least int) Need {
	for _, v := range []*int{&n.N, &n.Low, &n.High} {
		if *v > 0 {
			*v = max(*v, least)
		}
	}
	return n
}

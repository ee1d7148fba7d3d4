package stats

import "math"

// Paired is the comparison of two sides that were measured block by block, by the
// interval of [RatioInterval].
type Paired struct {
	Scatter
	// Low and High are factors by which the bounds lie further out, for what the
	// ratios do not show; 1 is none.
	Low, High float64
	ratios    []float64
}

// PairedOf takes three or more ratios. Errors are as of [RatioInterval].
func PairedOf(ratios []float64) (Paired, error) {
	s, err := ScatterOf(ratios)
	return Paired{s, 1, 1, ratios}, err
}

// Lower is the bound that lies above the true ratio with probability tail only.
func (p Paired) Lower(tail float64) float64 { return p.interval(tail).Low * p.Low }

// Upper is the bound that lies below the true ratio with probability tail only.
func (p Paired) Upper(tail float64) float64 { return p.interval(tail).High * p.High }

func (p Paired) interval(tail float64) Interval {
	i, _ := RatioInterval(p.ratios, 1-2*tail) // they have a scatter, so they have an interval
	return i
}

// Above returns p of the one-sided hypothesis that the true ratio is at most the
// limit, by Student's t with a standard error as much wider as the interval is than
// Student's. It is not below tail where the interval's lower bound with that tail
// does not lie above the limit.
func (p Paired) Above(limit, tail float64) float64 {
	v := p.student(math.Log(p.Low)).Above(limit)
	if p.Lower(tail) <= limit {
		v = max(v, tail)
	}
	return v
}

// Below is the mirror image of Above.
func (p Paired) Below(limit, tail float64) float64 {
	v := p.student(math.Log(p.High)).Below(limit)
	if p.Upper(tail) >= limit {
		v = max(v, tail)
	}
	return v
}

// student is its mean, further out by so much, as one that has Student's distribution.
func (p Paired) student(further float64) Two {
	return Two{Diff: p.Mean + further, SE: p.SD / math.Sqrt(float64(p.N)) * widening(p.N, 0.95), DF: float64(p.N - 1)}
}

// Needed is how many blocks make a one-sided bound with the tail come nearer than
// distance, on the scale of the logs.
func (p Paired) Needed(distance, tail float64) Need {
	return p.needed(1-2*tail, func(reach, se float64) float64 { return normal(distance/se - reach) })
}

package stats

import (
	"fmt"
	"math"
)

// Components are what the variance of log ratios is made of.
type Components struct {
	// Between launches: what no window takes away, however long.
	Between float64
	// Within launches: the variance of the mean over a window of a second, of both
	// sides together. It falls with the window's length.
	Within float64
}

// Variance is that of the log ratio of two windows of so many seconds.
func (c Components) Variance(window float64) float64 { return c.Between + c.Within/window }

// minBatches is the least number of batches of one launch that tell their variance. Of
// fewer, what lasts longer than a batch is in their mean.
const minBatches = 4

// BlockAverage returns the variance of the mean of a second, relative to the mean, of series that
// were each read during a launch with so many seconds from value to value. Values that resemble the
// one before make the mean of a stretch vary more than their own scatter says. So it takes the
// variance of the means of batches, twice as long each time, until longer ones add nothing beyond
// chance (Flyvbjerg and Petersen, J. Chem. Phys. 91, 1989, 461). Fewer than ten degrees of freedom
// over all series are an error that wraps ErrFew, a mean that is not positive and finite one that
// wraps ErrDomain.
func BlockAverage(series [][]float64, step float64) (float64, error) {
	type level struct{ rate, df float64 }
	var levels []level
	for batch := 1; ; batch *= 2 {
		var p pooled
		for _, x := range series {
			if len(x)/batch < minBatches {
				continue
			}
			m := Mean(x)
			if !(m > 0) || math.IsInf(m, 1) {
				return 0, fmt.Errorf("block averages: %w: a series with the mean %g", ErrDomain, m)
			}
			p.add(batches(x, batch, m))
		}
		if p.df < 10 {
			break
		}
		levels = append(levels, level{float64(batch) * p.variance(), p.df})
	}
	for i, l := range levels {
		least, most := 0.0, math.Inf(1) // what longer batches allow
		for _, m := range levels[i+1:] {
			chance := math.Sqrt(2 / m.df)
			least, most = max(least, m.rate*(1-chance/2)), min(most, m.rate*(1+2*chance))
		}
		if l.rate >= least && l.rate <= most || i == len(levels)-1 {
			return l.rate * step, nil
		}
	}
	return 0, fmt.Errorf("block averages: %w: %d series, none long enough", ErrFew, len(series))
}

// batches are the means of consecutive values, relative to m.
func batches(x []float64, batch int, m float64) []float64 {
	out := make([]float64, len(x)/batch)
	for i := range out {
		out[i] = Mean(x[i*batch:(i+1)*batch]) / m
	}
	return out
}

// Windowed is the scatter of log ratios of windows of so many seconds.
type Windowed struct {
	Scatter
	Window float64
}

// FitWindows splits the variance by how it falls with the window: by least squares, each weighed by
// what its estimate of the variance is worth. Without two lengths, one at least twice the other, it
// is an error that wraps ErrFew.
func FitWindows(of []Windowed) (Components, error) {
	shortest, longest := math.Inf(1), 0.0
	var c Components
	for _, w := range of {
		shortest, longest = min(shortest, w.Window), max(longest, w.Window)
		c.Between = max(c.Between, w.SD*w.SD)
	}
	if !(shortest > 0) || !(longest >= 2*shortest) || len(of) == 0 {
		return Components{}, fmt.Errorf("variance by window: %w: two lengths needed, one at least twice the other", ErrFew)
	}
	if c.Between == 0 {
		return c, nil
	}
	for range 50 { // the weights follow the variances fitted
		c = fitOnce(of, c)
	}
	return c, nil
}

// FitBetween is [FitWindows] where the variance within launches is known: one length will do.
// Without any it is an error that wraps ErrFew.
func FitBetween(of []Windowed, within float64) (Components, error) {
	c := Components{Within: within}
	for _, w := range of {
		c.Between = max(c.Between, w.SD*w.SD)
	}
	if len(of) == 0 {
		return c, fmt.Errorf("variance between launches: %w: no scatter", ErrFew)
	}
	for range 50 {
		sum, all := 0.0, 0.0
		for _, o := range of {
			v := c.Variance(o.Window)
			if v == 0 {
				return c, nil
			}
			weight := float64(o.N-1) / (2 * v * v)
			sum, all = sum+weight*(o.SD*o.SD-within/o.Window), all+weight
		}
		c.Between = max(0, sum/all)
	}
	return c, nil
}

// fitOnce fits with the weights of an earlier fit; no component is less than 0.
func fitOnce(of []Windowed, earlier Components) Components {
	var w, x, y, xx, xy float64
	for _, o := range of {
		v := earlier.Variance(o.Window)
		weight := float64(o.N-1) / (2 * v * v)
		by, found := 1/o.Window, o.SD*o.SD
		w, x, y = w+weight, x+weight*by, y+weight*found
		xx, xy = xx+weight*by*by, xy+weight*by*found
	}
	within := (w*xy - x*y) / (w*xx - x*x)
	between := (y - within*x) / w
	switch {
	case within <= 0:
		return Components{Between: y / w}
	case between <= 0:
		return Components{Within: xy / xx}
	}
	return Components{between, within}
}

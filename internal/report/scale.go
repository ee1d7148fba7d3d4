package report

import "math"

// logScale maps ratios to a stretch of pixels, equal factors to equal lengths.
type logScale struct{ low, high, x0, x1 float64 }

// ratioScale covers every ratio given, 1 and the margin around it.
func ratioScale(ratios []float64, margin, x0, x1 float64) logScale {
	low, high := 1-margin, 1+margin
	for _, r := range ratios {
		if r > 0 && !math.IsInf(r, 0) {
			low, high = math.Min(low, r), math.Max(high, r)
		}
	}
	pad := math.Pow(high/low, 0.06)
	return logScale{low / pad, high * pad, x0, x1}
}

func (s logScale) at(r float64) float64 {
	f := math.Log(r/s.low) / math.Log(s.high/s.low)
	return s.x0 + math.Min(1, math.Max(0, f))*(s.x1-s.x0)
}

// ticks are a few ratios people know, 1 among them where it is in range, with
// room between them for labels.
func (s logScale) ticks(room float64) []float64 {
	var ticks []float64
	place := func(r float64) {
		if r <= s.low || r >= s.high {
			return
		}
		for _, t := range ticks {
			if math.Abs(s.at(t)-s.at(r)) < room {
				return
			}
		}
		ticks = append(ticks, r)
	}
	place(1)
	// The widest steps first, so that what finds room is round.
	for _, f := range []float64{1000, 100, 10, 5, 2, 1.5, 1.2, 1.1, 1.05, 1.02, 1.01} {
		place(f)
		if f < 2 {
			place(2 - f)
		} else {
			place(1 / f)
		}
	}
	return ticks
}

// What an axis can be made for: far beyond what is measured, and far enough from
// where floating point ends that sums, squares and quotients of two are numbers.
const leastTop, mostTop = 1e-100, 1e100

// linearTop is a round number at least v, for the top of an axis, and the step
// that divides it into four or five. What no axis can be made for has one to 1.
func linearTop(v float64) (top, step float64) {
	if !(v >= leastTop && v <= mostTop) { // NaN is neither
		return 1, 0.25
	}
	step = math.Pow(10, math.Floor(math.Log10(v/4)))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if f*step*5 >= v {
			step *= f
			break
		}
	}
	return step * math.Ceil(v/step), step
}

// mostTicks bounds the lines of an axis, whatever it was made for.
const mostTicks = 100

// ticksTo are the multiples of step from 0 to top. They are counted: a sum of
// steps may grow no more, or never reach the top.
func ticksTo(top, step float64) []float64 {
	var ticks []float64
	for k := 0; k < mostTicks && float64(k) <= top/step*1.0001; k++ {
		ticks = append(ticks, float64(k)*step)
	}
	return ticks
}

package chart

import (
	"fmt"
	"math"
)

// Axis maps values to a stretch of a plot.
type Axis struct {
	Low, High float64
	Log       bool // equal factors to equal lengths; what lies beyond is drawn at the end
	Ticks     []Tick
	Title     string // below the axis to the right
	Marks     bool   // ticks are marks at the axis, no lines across the plot
	Sparse    bool   // the names of ticks that are too close are left out
}

// Tick is a value that is named at an axis.
type Tick struct {
	At   float64
	Name string
}

// at is where v lies between two coordinates.
func (a Axis) at(v, from, to float64) float64 {
	if !a.Log {
		return from + (v-a.Low)/(a.High-a.Low)*(to-from)
	}
	share := math.Log(v/a.Low) / math.Log(a.High/a.Low)
	return from + math.Min(1, math.Max(0, share))*(to-from)
}

// named makes ticks of values.
func named(values []float64, name func(float64) string) []Tick {
	ticks := make([]Tick, len(values))
	for i, v := range values {
		ticks[i] = Tick{v, name(v)}
	}
	return ticks
}

// Linear is an axis from 0, or below it if low is, to a round number at least high.
func Linear(low, high float64, name func(float64) string) Axis {
	below, above := min(low, 0), max(high, 0)
	if !(below < 0) {
		top, step := linearTop(above)
		return Axis{High: top, Ticks: named(ticksTo(top, step), name)}
	}
	_, step := linearTop(above - below)
	first := max(math.Floor(below/step), -mostTicks)
	last := min(max(math.Ceil(above/step), first+1), mostTicks)
	var values []float64
	for k := first; k <= last; k++ {
		values = append(values, k*step)
	}
	return Axis{Low: first * step, High: last * step, Ticks: named(values, name)}
}

// Binary is a linear axis from 0 in whole steps of a binary unit.
func Binary(high float64, name func(float64) string) Axis {
	top, step := binaryTop(high)
	return Axis{High: top, Ticks: named(ticksTo(top, step), name)}
}

// Seconds is a linear axis from 0 to end, with a mark at whole seconds.
func Seconds(end float64) Axis {
	if end <= 0 {
		end = 1
	}
	_, step := linearTop(end)
	return Axis{High: end, Marks: true, Ticks: named(ticksTo(end, max(1, math.Round(step))), func(t float64) string { return fmt.Sprintf("%.0f s", t) })}
}

// Log is a logarithmic axis with some room beyond low and high, which are above 0.
func Log(low, high float64, name func(float64) string) Axis {
	const room = 1.15 // factor left free above and below
	low, high = low/room, high*room
	return Axis{Low: low, High: high, Log: true, Ticks: named(decades(low, high), name)}
}

// decades are round values between two: 1, 2 and 5 of each decade, or only
// the decades where there are many.
func decades(low, high float64) []float64 {
	steps := []float64{1, 2, 5}
	if high/low > 2e3 {
		steps = steps[:1]
	}
	var ticks []float64
	first := math.Floor(math.Log10(low))
	for k := 0; k < mostTicks && math.Pow(10, first+float64(k)) <= high; k++ {
		for _, s := range steps {
			if t := s * math.Pow(10, first+float64(k)); t >= low && t <= high {
				ticks = append(ticks, t)
			}
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

// binaryTop is linearTop in whole steps of a binary unit.
func binaryTop(v float64) (top, step float64) {
	unit := 1.0
	for v/unit >= 1024 {
		unit *= 1024
	}
	top, step = linearTop(v / unit)
	return top * unit, step * unit
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

package analysis

import (
	"math"
	"slices"

	"tare/internal/bench"
)

// powerReading is one reading of a power meter.
type powerReading struct {
	at     int64   // the middle of the time it took
	watts  float64 // NaN if the meter has none
	joules float64 // of its counter; NaN if it has none
}

func newPowerReading(s *bench.Sample) powerReading {
	r := powerReading{at: s.At + s.Late + s.Took/2, watts: math.NaN(), joules: math.NaN()}
	if v, ok := s.Values[bench.ColPower]; ok {
		r.watts = v
	}
	if v, ok := s.Values[bench.ColEnergy]; ok {
		r.joules = v
	}
	return r
}

// meanPower is the mean power of a window by one meter.
type meanPower struct {
	watts float64
	// bound is the most by which the meter's steps, its lag and the edges of the
	// window may have moved the mean.
	bound   float64
	seconds float64
	why     string // it is not known
}

func notDrawn(why string) meanPower { return meanPower{watts: math.NaN(), why: why} }

// slack is by how much a reading may be late without a meter being silent.
const slack = 0.3 // seconds

// draw works out the mean power of a window from readings in order of time.
func draw(readings []powerReading, src bench.PowerSource, window [2]int64) meanPower {
	seconds := float64(window[1]-window[0]) / 1e9
	if seconds <= 0 {
		return notDrawn("the window has no length")
	}
	longest := 2*max(src.Every, src.Update) + slack
	d := meanPower{}
	if slices.ContainsFunc(readings, func(r powerReading) bool { return !math.IsNaN(r.joules) }) {
		readings = slices.DeleteFunc(slices.Clone(readings), func(r powerReading) bool { return math.IsNaN(r.joules) })
		d = ofCounter(readings, src, window, longest)
	} else {
		readings = slices.DeleteFunc(slices.Clone(readings), func(r powerReading) bool { return math.IsNaN(r.watts) })
		d = ofGauge(readings, src, window, longest)
	}
	d.seconds = seconds
	return d
}

// ofGauge is of a meter that tells the power now. Each reading stands for the
// time around it; what it showed before the window counts as lag.
func ofGauge(readings []powerReading, src bench.PowerSource, window [2]int64, longest float64) meanPower {
	first := slices.IndexFunc(readings, func(r powerReading) bool { return r.at >= window[0] })
	if first < 0 || readings[first].at > window[1] {
		return notDrawn("the meter told nothing within the window")
	}
	seconds := between(window[0], window[1])
	low, high := readings[first].watts, readings[first].watts
	if first > 0 && between(readings[first-1].at, window[0]) <= longest {
		low, high = min(low, readings[first-1].watts), max(high, readings[first-1].watts)
	}
	last, joules, silent := window[0], 0.0, 0.0
	value := readings[first].watts
	before := between(window[0], readings[first].at)
	for _, r := range readings[first:] {
		if r.at > window[1] {
			break
		}
		gap := between(last, r.at)
		joules += gap * (value + r.watts) / 2
		silent = max(silent, gap)
		low, high = min(low, r.watts), max(high, r.watts)
		last, value = r.at, r.watts
	}
	after := between(last, window[1])
	joules += after * value
	if silent = max(silent, after); silent > longest {
		return notDrawn("the meter was silent for a part of the window")
	}
	// A change within the window falls somewhere between two readings.
	lag := min(1, (src.Update+before+after+silent/2)/seconds)
	return meanPower{watts: joules / seconds, bound: src.StepW/2 + lag*(high-low)}
}

// ofCounter is of a meter that counts energy: the difference of its counter
// between the edges, each found on the line between the readings around it. A
// counter says nothing of the time before its first reading or after its last,
// nor how what lies between two readings is spread over it.
func ofCounter(readings []powerReading, src bench.PowerSource, window [2]int64, longest float64) meanPower {
	if !slices.ContainsFunc(readings, func(r powerReading) bool { return r.at >= window[0] && r.at <= window[1] }) {
		return notDrawn("the meter told nothing within the window")
	}
	var at [2]float64
	var off, low, high float64 // how far the edges are from readings, in seconds; slopes around
	low = math.Inf(1)
	for i := 1; i < len(readings); i++ {
		a, b := readings[i-1], readings[i]
		if b.joules < a.joules {
			return notDrawn("the meter's counter went backwards")
		}
		if b.at > a.at && b.at >= window[0] && a.at <= window[1] {
			slope := (b.joules - a.joules) / between(a.at, b.at)
			low, high = min(low, slope), max(high, slope)
		}
	}
	for e, edge := range window {
		next := slices.IndexFunc(readings, func(r powerReading) bool { return r.at >= edge })
		if next < 1 {
			return notDrawn("the meter told nothing at the edges of the window")
		}
		a, b := readings[next-1], readings[next]
		if gap := between(a.at, b.at); gap > longest || gap <= 0 {
			return notDrawn("the meter was silent at an edge of the window")
		}
		at[e] = a.joules + (b.joules-a.joules)*between(a.at, edge)/between(a.at, b.at)
		off += min(between(a.at, edge), between(edge, b.at))
	}
	seconds := between(window[0], window[1])
	watts := (at[1] - at[0]) / seconds
	return meanPower{watts: watts, bound: (src.StepJ + src.Update*watts + off*(high-low)) / seconds}
}

func between(from, to int64) float64 { return float64(to-from) / 1e9 }

package agent

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/bench"
)

// maxDrift is how much two sound clocks may gain on each other, in nanoseconds
// per second: 500 ppm, to which the kernel limits the correction of a
// frequency (MAXFREQ of adjtimex(2); RFC 5905's tolerance).
const maxDrift = 500_000.0

// FitClock lays a line through the probes of one instance's clock, by least
// squares weighted with their uncertainties. The true offset lies within a
// probe's uncertainty of it, however unequal the two ways of the round trip were.
//
// Like RFC 5905's clock filter it passes over a probe about which a neighbour
// says more although clocks may drift by 500 ppm between the two, but never
// over the first and the last. Of the others the largest residual together with
// the probe's uncertainty bounds the error between the first and the last: two
// lines, the fit and the truth, are nowhere further apart than at the ends of
// a stretch, and so are a line and a truth that bends at probes.
//
// Probes that no drift of at most 500 ppm reconciles are a fault: the clock was
// stepped, stopped, or runs wrong.
func FitClock(probes []bench.ClockProbe) bench.ClockFit {
	ps := slices.Clone(probes)
	slices.SortStableFunc(ps, func(a, b bench.ClockProbe) int { return cmp.Compare(a.At, b.At) })
	f := bench.ClockFit{Probes: ps}
	if len(ps) == 0 {
		f.Fault = "the clock was never probed"
		return f
	}
	f.Fault = faultOf(ps)
	first, last := ps[0].At, ps[len(ps)-1].At
	f.At = first + (last-first)/2
	telling := slices.Collect(tellingOf(ps))
	level := telling[0].Offset // kept apart, for a float64 does not hold the nanoseconds of years
	offset, drift := line(telling, f.At, level)
	f.Offset, f.Drift = level+int64(math.Round(offset)), drift
	f.DriftUncertainty = maxDrift + math.Abs(drift)
	bound := 0.0
	for i, p := range telling {
		residual := float64(p.Offset-f.Offset) - drift*seconds(p.At-f.At)
		bound = max(bound, math.Abs(residual)+float64(p.Uncertainty))
		for _, q := range telling[:i] {
			if t := seconds(p.At - q.At); t > 0 {
				between := float64(p.Offset-q.Offset) / t
				f.DriftUncertainty = min(f.DriftUncertainty, math.Abs(drift-between)+float64(p.Uncertainty+q.Uncertainty)/t)
			}
		}
	}
	f.Uncertainty = int64(math.Ceil(bound)) + 1 // for the rounding of Offset
	return f
}

// faultOf names the two probes that contradict each other worst.
func faultOf(ps []bench.ClockProbe) string {
	worst, fault := 0.0, ""
	for i, p := range ps {
		for _, q := range ps[:i] {
			t := seconds(p.At - q.At)
			moved := float64(p.Offset - q.Offset)
			beyond := math.Abs(moved) - float64(p.Uncertainty) - float64(q.Uncertainty) - maxDrift*t
			if beyond > worst {
				worst = beyond
				fault = fmt.Sprintf("it moved by %.3f ms against the host's in %.3f s, from %s to %s; a drift of 500 ppm and the uncertainty of both readings allow %.3f ms",
					moved/1e6, t, q.Phase, p.Phase, (math.Abs(moved)-beyond)/1e6)
			}
		}
	}
	return fault
}

// tellingOf yields the first and the last probe and those in between that know
// more than any other, its uncertainty grown by the drift, tells of their instant.
func tellingOf(ps []bench.ClockProbe) func(yield func(bench.ClockProbe) bool) {
	return func(yield func(bench.ClockProbe) bool) {
		for i, p := range ps {
			tells := i == 0 || i == len(ps)-1 || !slices.ContainsFunc(ps, func(q bench.ClockProbe) bool {
				return q != p && float64(q.Uncertainty)+maxDrift*math.Abs(seconds(p.At-q.At)) < float64(p.Uncertainty)
			})
			if tells && !yield(p) {
				return
			}
		}
	}
}

// line is the weighted least squares line through the probes' offsets less
// level, no steeper than maxDrift: its height at the instant at, in nanoseconds,
// and its slope per second, which is zero if they are all of one instant.
func line(ps []bench.ClockProbe, at, level int64) (height, slope float64) {
	var w, wt, wo float64
	weight := func(p bench.ClockProbe) float64 {
		u := float64(max(p.Uncertainty, 1))
		return 1 / (u * u)
	}
	for _, p := range ps {
		k := weight(p)
		w, wt, wo = w+k, wt+k*seconds(p.At-at), wo+k*float64(p.Offset-level)
	}
	midTime, midOffset := wt/w, wo/w
	var tt, to float64
	for _, p := range ps {
		k, t := weight(p), seconds(p.At-at)-midTime
		tt, to = tt+k*t*t, to+k*t*(float64(p.Offset-level)-midOffset)
	}
	if tt > 0 {
		slope = min(max(to/tt, -maxDrift), maxDrift)
	}
	return midOffset - slope*midTime, slope
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

package agent

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/bench"
)

// maxDrift is the maximum drift between two sound clocks, in nanoseconds per second: 500 ppm. The
// kernel limits frequency corrections to it (MAXFREQ of adjtimex(2); RFC 5905's tolerance).
const maxDrift = 500_000.0

// FitClock fits a line to the probes of one instance's clock, by least squares weighted with their
// uncertainties. The true offset is within a probe's uncertainty even if the two ways of the round
// trip took different times.
//
// Like RFC 5905's clock filter it skips a probe if a neighbour gives a tighter bound even after a
// drift of 500 ppm between the two. It never skips the first and the last. For the others, the
// largest sum of residual and uncertainty bounds the error between the first and the last probe.
// The reason: two lines, the fit and the truth, are furthest apart at the ends of a stretch. The
// same holds for a truth that bends at probes.
//
// It is a fault if no drift of at most 500 ppm fits the probes: the clock was stepped, stopped, or
// runs at a wrong rate.
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
	level := telling[0].Offset // kept separately: a float64 cannot hold years in nanoseconds
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

// faultOf returns the two probes that contradict each other most.
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

// tellingOf yields the first and the last probe and the useful ones in between. A probe is useful
// if no other probe, with its uncertainty grown by the drift, has a tighter bound at that instant.
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

// line returns the weighted least squares line through the probes' offsets less level, no steeper
// than maxDrift. It gives the height at the instant at, in nanoseconds, and the slope per second.
// The slope is 0 if all probes have the same instant.
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

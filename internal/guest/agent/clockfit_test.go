package agent

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

// simulated is a clock that is away by offset at the instant origin and drifts.
type simulated struct {
	origin, offset int64
	drift          float64 // ns per s
}

func (s simulated) read(host int64) int64 {
	return host + s.offset + int64(s.drift*float64(host-s.origin)/1e9)
}

// burst is what [Client.Probe] makes of round trips with the given delays there and back.
func (s simulated) burst(phase string, at int64, there, back []int64) bench.ClockProbe {
	best := Offset{Uncertainty: math.MaxInt64}
	for i := range there {
		read := s.read(at + there[i])
		o := offset(at, read, read, at+there[i]+back[i])
		if o.Uncertainty < best.Uncertainty {
			best = o
		}
		at += there[i] + back[i]
	}
	return bench.ClockProbe{Phase: phase, At: best.At, Offset: best.Offset, Uncertainty: best.Uncertainty}
}

func drawBurst(t *rapid.T, s simulated, at int64) bench.ClockProbe {
	// From microseconds to 20 ms, and as unequal as may be.
	delays := rapid.SliceOfN(rapid.Int64Range(1_000, 20_000_000), 4, 4)
	return s.burst("measure", at, delays.Draw(t, "there"), delays.Draw(t, "back"))
}

func drawClock(t *rapid.T) simulated {
	const day = 86_400_000_000_000
	return simulated{
		origin: rapid.Int64Range(0, 300*day).Draw(t, "origin"),
		offset: rapid.Int64Range(-300*day, 300*day).Draw(t, "offset"),
		drift:  rapid.Float64Range(-400_000, 400_000).Draw(t, "drift"),
	}
}

// Whatever the delays, the clock lies within the bound of the fit, at every
// instant between the first probe and the last.
func TestFitHoldsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawClock(t)
		n := rapid.IntRange(1, 8).Draw(t, "bursts")
		at := s.origin
		var ps []bench.ClockProbe
		for range n {
			ps = append(ps, drawBurst(t, s, at))
			at += rapid.Int64Range(200_000_000, 30_000_000_000).Draw(t, "gap")
		}
		f := FitClock(ps)
		if f.Fault != "" {
			t.Fatalf("a sound clock is at fault: %s", f.Fault)
		}
		if math.Abs(f.Drift-s.drift) > f.DriftUncertainty+1 {
			t.Errorf("drift %v ± %v, truth %v", f.Drift, f.DriftUncertainty, s.drift)
		}
		first, last := f.Probes[0].At, f.Probes[n-1].At
		for i := range int64(11) {
			host := first + (last-first)/10*i
			// A nanosecond of guest and one of host differ by less than a part in a thousand.
			if d := f.Host(s.read(host)) - host; math.Abs(float64(d)) > float64(f.Uncertainty)*1.001+2 {
				t.Errorf("instant %d of 10 is placed %d ns away, the bound is %d ns", i, d, f.Uncertainty)
			}
		}
	})
}

// A step of a second is never taken for drift, wherever it falls among bursts up to ten minutes apart.
func TestFitFindsAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawClock(t)
		n := rapid.IntRange(2, 8).Draw(t, "bursts")
		stepAt := rapid.IntRange(1, n-1).Draw(t, "the step is before burst")
		step := rapid.SampledFrom([]int64{-1_000_000_000, 1_000_000_000}).Draw(t, "step")
		at := s.origin
		var ps []bench.ClockProbe
		for i := range n {
			if i == stepAt {
				s.offset += step
			}
			ps = append(ps, drawBurst(t, s, at))
			at += rapid.Int64Range(200_000_000, 600_000_000_000).Draw(t, "gap")
		}
		if f := FitClock(ps); f.Fault == "" {
			t.Errorf("no fault: %+v", f)
		}
	})
}

func TestFitOfFewProbes(t *testing.T) {
	if f := FitClock(nil); !strings.Contains(f.Fault, "never probed") {
		t.Errorf("of none: %+v", f)
	}
	one := FitClock([]bench.ClockProbe{{At: 100, Offset: -7, Uncertainty: 50}})
	if one.Fault != "" || one.Offset != -7 || one.Uncertainty < 50 || one.Uncertainty > 51 || one.Drift != 0 || one.DriftUncertainty != maxDrift {
		t.Errorf("of one: %+v", one)
	}
	// Of one instant twice: no drift can be told, and nothing is divided by zero.
	two := FitClock([]bench.ClockProbe{{At: 100, Offset: 0, Uncertainty: 50}, {At: 100, Offset: 40, Uncertainty: 50}})
	if two.Fault != "" || two.Offset != 20 || two.Drift != 0 {
		t.Errorf("of two at once: %+v", two)
	}
}

// A burst that was caught by a busy guest does not widen the bound, for those
// beside it say more.
func TestFitPassesOverABadBurst(t *testing.T) {
	f := FitClock([]bench.ClockProbe{
		{At: 0, Offset: 1000, Uncertainty: 100_000},
		{At: 2e9, Offset: 9_000_000, Uncertainty: 15_000_000},
		{At: 4e9, Offset: 1000, Uncertainty: 100_000},
	})
	if f.Fault != "" || f.Uncertainty > 100_010 || len(f.Probes) != 3 {
		t.Errorf("%+v", f)
	}
}

// One that is little worse than those beside it counts, for clocks drift between them.
func TestFitCountsWhatTheOthersDoNotKnow(t *testing.T) {
	f := FitClock([]bench.ClockProbe{
		{At: 0, Uncertainty: 100_000},
		{At: 2e9, Offset: 500_000, Uncertainty: 120_000},
		{At: 4e9, Uncertainty: 100_000},
	})
	off := f.Offset - 500_000 // f.At is the middle
	if f.Fault != "" || f.Offset <= 0 || f.Uncertainty < 120_000-off {
		t.Errorf("%+v", f)
	}
}

func TestFaultSaysWhatMoved(t *testing.T) {
	f := FitClock([]bench.ClockProbe{
		{Phase: "prepare", At: 0, Uncertainty: 100_000},
		{Phase: "measure", At: 1e9, Uncertainty: 100_000},
		{Phase: "collect", At: 2e9, Offset: 1e9, Uncertainty: 100_000},
	})
	for _, want := range []string{"1000.000 ms", "1.000 s", "from measure to collect", "0.700 ms"} {
		if !strings.Contains(f.Fault, want) {
			t.Errorf("%q lacks %q", f.Fault, want)
		}
	}
}

package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"tare/internal/bench"
)

// longSeries is the measuring time above which a series has a step of a second.
const longSeries = 2 * time.Minute

// seriesStep is how often a program that can is to tell how far it is.
func seriesStep(measure time.Duration) time.Duration {
	if measure > longSeries {
		return time.Second
	}
	return 100 * time.Millisecond
}

// spell is a rate that held from one second of the window to another.
type spell struct{ from, to, rate float64 }

// shownAtEnd is a command that prints to a file, which is shown once it has ended. What it would print
// at once the instance's wire would have to carry within the window, a slow one at a cost.
func shownAtEnd(c bench.Command) bench.Command {
	const file = bench.ScratchDir + "/output.txt"
	c.Argv = slices.Concat([]string{"sh", "-c", `"$@" >` + file + `; status=$?; cat ` + file + `; exit $status`, "sh"}, c.Argv)
	return c
}

// sinceWarmup are the spells since the window opened, and the times from then.
func sinceWarmup(all []spell, t bench.Timing) []spell {
	warm := t.Warmup.Seconds()
	var since []spell
	for _, x := range all {
		if x.to > warm {
			since = append(since, spell{max(0, x.from-warm), x.to - warm, x.rate})
		}
	}
	return since
}

// shortWindow is the least part of the window that interim results must tell of.
const shortWindow = 0.95

// meanSince is the mean rate of interim results since the window opened.
func meanSince(all []spell, t bench.Timing) (float64, error) {
	since := sinceWarmup(all, t)
	if len(since) == 0 || since[len(since)-1].to < shortWindow*t.Measure.Seconds() {
		return 0, fmt.Errorf("its interim results end before the %v after the warm-up of %v", t.Measure, t.Warmup)
	}
	return positive(strconv.FormatFloat(meanRate(since), 'g', -1, 64))
}

// meanRate is the mean over all of the spells' time, which is none's if there are none.
func meanRate(spells []spell) float64 {
	var done, took float64
	for _, x := range spells {
		done += x.rate * (x.to - x.from)
		took += x.to - x.from
	}
	return done / took
}

// seriesSince are the rates since the window opened, up to its end or that of the last whole step told.
func seriesSince(metric string, all []spell, t bench.Timing) ([]bench.Series, error) {
	since := sinceWarmup(all, t)
	if len(since) == 0 {
		return nil, nil
	}
	end := min(since[len(since)-1].to, t.Measure.Seconds())
	return seriesOf(metric, since, seriesStep(t.Measure), time.Duration(end*float64(time.Second)))
}

// seriesOf are the mean rates of the spells over each whole step of the length. Spells that overlap,
// as of several threads, add up. Where there is none nothing was done.
func seriesOf(metric string, spells []spell, step, length time.Duration) ([]bench.Series, error) {
	n := int(length / step)
	if n <= 0 || n > bench.MaxPoints || len(spells) == 0 {
		return nil, nil
	}
	s := bench.Series{Metric: metric, Step: step.Seconds(), Values: make([]float64, n)}
	for _, x := range spells {
		if !(x.from >= 0) || !(x.to > x.from) || !(x.rate >= 0) || math.IsInf(x.rate, 0) {
			return nil, fmt.Errorf("series of %s: %v from %v to %v s", metric, x.rate, x.from, x.to)
		}
		for i := int(min(x.from/s.Step, float64(n))); i < n && float64(i)*s.Step < x.to; i++ {
			within := min(x.to, float64(i+1)*s.Step) - max(x.from, float64(i)*s.Step)
			s.Values[i] += x.rate * max(0, within) / s.Step
		}
	}
	if slices.Max(s.Values) == 0 {
		return nil, fmt.Errorf("series of %s: nothing was done in %d steps", metric, n)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return []bench.Series{s}, nil
}

package workload

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

const (
	netperfOutput = bench.ScratchDir + "/netperf.txt"
	netperfScript = `"$@" >` + netperfOutput + `; status=$?; cat ` + netperfOutput + `; exit $status`
)

// netperfInterim is the client that prints what it did about every step, by -D: it counts up to as
// many sends or round trips as it guesses that to take, and then looks at a clock. So the first takes
// longer, and none is of exactly that length. It prints at once, which the instance's wire would have
// to carry within the window, a slow one at a cost. So it prints to a file, which is shown at the end.
func netperfInterim(c bench.Command, measure time.Duration) bench.Command {
	step := strconv.FormatFloat(seriesStep(measure).Seconds(), 'f', -1, 64)
	c.Argv = slices.Concat([]string{"sh", "-c", netperfScript, "sh", c.Argv[0], "-D", step}, c.Argv[1:])
	return c
}

// Series is what was sent, or how many round trips were done, per second.
func (w netperf) Series(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	return netperfSeries(p["test"], w.within(p, s.Timing), out)
}

// netperfSeries is that of a test's output.
func netperfSeries(test string, t bench.Timing, out bench.Output) ([]bench.Series, error) {
	metric := "throughput"
	if roundTrips(test) {
		metric = "transactions"
	}
	spells, err := netperfSpells(out.Stdout, netperfUnit(test))
	if err != nil {
		return nil, fmt.Errorf("netperf: %w", err)
	}
	spells = netperfWindow(spells, t)
	if len(spells) == 0 {
		return nil, nil
	}
	end := min(spells[len(spells)-1].to, t.Measure.Seconds())
	return seriesOf(metric, spells, seriesStep(t.Measure), time.Duration(end*float64(time.Second)))
}

// netperfWindow are the spells since the window opened, and the times from then.
func netperfWindow(spells []spell, t bench.Timing) []spell {
	warm := t.Warmup.Seconds()
	var since []spell
	for _, x := range spells {
		if x.to > warm {
			since = append(since, spell{max(0, x.from-warm), x.to - warm, x.rate})
		}
	}
	return since
}

const (
	// netperfShort is the least part of the window that interim results must tell of.
	netperfShort = 0.95
	// netperfApart is how far the mean of all interim results may be from what netperf says of the run.
	netperfApart = 0.02
)

// netperfSince is the mean of the interim results since the window opened. The mean of all of them
// must be that which netperf gives.
func netperfSince(stdout []byte, test string, t bench.Timing, whole float64) (float64, error) {
	all, err := netperfSpells(stdout, netperfUnit(test))
	if err != nil {
		return 0, err
	}
	if mean := meanRate(all); !(math.Abs(mean-whole) <= netperfApart*whole) {
		return 0, fmt.Errorf("the mean of %d interim results is %.6g, that of the run %.6g", len(all), mean, whole)
	}
	since := netperfWindow(all, t)
	if len(since) == 0 || since[len(since)-1].to < netperfShort*t.Measure.Seconds() {
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

// netperfSpells reads the interim results, each of four lines: its number per second, their unit, the
// seconds it took and the time at which it ended.
func netperfSpells(stdout []byte, unit string) ([]spell, error) {
	var spells []spell
	var rate, took, origin float64
	for line := range bytes.Lines(stdout) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		name, of, _ := strings.Cut(key, "[")
		switch {
		case !strings.HasPrefix(name, "NETPERF_"):
			continue
		case of != strconv.Itoa(len(spells))+"]":
			return nil, fmt.Errorf("interim result: line %q: it is number %d", line, len(spells))
		case name == "NETPERF_UNITS":
			if value != unit {
				return nil, fmt.Errorf("interim result: line %q: the unit is not %q", line, unit)
			}
			continue
		}
		v, err := number(value)
		if err != nil {
			return nil, fmt.Errorf("interim result: line %q: %w", line, err)
		}
		switch name {
		case "NETPERF_INTERIM_RESULT":
			rate = v
		case "NETPERF_INTERVAL":
			took = v
		case "NETPERF_ENDING":
			x := spell{0, took, rate}
			if len(spells) == 0 {
				origin = v - took
			} else {
				x.from, x.to = spells[len(spells)-1].to, v-origin
			}
			if x.to <= x.from {
				return nil, fmt.Errorf("interim result: line %q: it ends no later than the one before", line)
			}
			spells = append(spells, x)
		}
	}
	return spells, nil
}

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

// netperfInterim is the client that prints what it did about every step, by -D: it counts up to as
// many sends or round trips as it guesses that to take, and then looks at a clock. So the first takes
// longer, and none is of exactly that length.
func netperfInterim(c bench.Command, measure time.Duration) bench.Command {
	c.Argv = slices.Insert(c.Argv, 1, "-D", seconds(seriesStep(measure)))
	return shownAtEnd(c)
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
	return seriesSince(metric, spells, t)
}

// netperfApart is how far the mean of all interim results may be from what netperf says of the run.
const netperfApart = 0.02

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
	return meanSince(all, t)
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

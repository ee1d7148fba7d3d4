package workload

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// netperfInterim makes netperf print what it did about every step, with -D: it counts up to as many
// sends or round trips as it guesses that to take, and then looks at a clock. So the first takes
// longer, and none is of exactly that length.
func netperfInterim(measure time.Duration) string {
	return strconv.FormatFloat(seriesStep(measure).Seconds(), 'f', -1, 64)
}

// Series is what was sent, or how many round trips were done, per second.
func (netperf) Series(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	metric, unit := "throughput", "10^6bits/s"
	if p["test"] == "TCP_RR" {
		metric, unit = "transactions", "Trans/s"
	}
	spells, err := netperfSpells(out.Stdout, unit)
	if err != nil {
		return nil, fmt.Errorf("netperf: %w", err)
	}
	if len(spells) == 0 {
		return nil, nil
	}
	end := min(spells[len(spells)-1].to, s.Timing.Measure.Seconds())
	return seriesOf(metric, spells, seriesStep(s.Timing.Measure), time.Duration(end*float64(time.Second)))
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
			spells = append(spells, x)
		}
	}
	return spells, nil
}

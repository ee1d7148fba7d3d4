package workload

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"tare/internal/bench"
)

// Series is how many requests, of all threads, were served per second. It is as long as that of the
// thread that ended first, but for its last step.
func (workingSet) Series(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	step := seriesStep(s.Timing.Measure)
	spells, steps, err := workingSetSpells(out.Stdout, step.Seconds())
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	return seriesOf("requests", spells, step, min(time.Duration(steps-1)*step, s.Timing.Measure))
}

// workingSetSpells reads lines such as "series 800.0 888.2 0 1096.4", one of each thread: how many requests
// it served in each step. It returns the fewest steps of a thread, too.
func workingSetSpells(stdout []byte, step float64) (spells []spell, steps int, err error) {
	for line := range bytes.Lines(stdout) {
		rest, ok := strings.CutPrefix(string(line), "series ")
		if !ok {
			continue
		}
		counts := strings.Fields(rest)
		for i, text := range counts {
			n, err := number(text)
			if err != nil {
				return nil, 0, fmt.Errorf("series: step %d: %w", i+1, err)
			}
			if n != 0 {
				spells = append(spells, spell{float64(i) * step, float64(i+1) * step, n / step})
			}
		}
		if steps == 0 || len(counts) < steps {
			steps = len(counts)
		}
	}
	return spells, steps, nil
}

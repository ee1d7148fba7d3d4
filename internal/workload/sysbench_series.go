package workload

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"tare/internal/bench"
)

// sysbenchSteps is the fewest seconds for which sysbench is made to report each: it knows no
// shorter step, and fewer tell nothing.
const sysbenchSteps = 10

// sysbenchReport is the option that makes it report, if any.
func sysbenchReport(length time.Duration) []string {
	if length < sysbenchSteps*time.Second {
		return nil
	}
	return []string{"--report-interval=1"}
}

// Series is how many searches were finished in each second; sysbench may not report the last.
func (sysbenchCPU) Series(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	spells, err := sysbenchSpells(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	spells = sinceWarmup(spells, bench.Timing{Warmup: time.Duration(whole(s.Timing.Warmup)) * time.Second})
	return seriesOf("throughput", spells, time.Second, time.Duration(len(spells))*time.Second)
}

// sysbenchSpells reads lines such as "[ 2s ] thds: 2 eps: 2410.47 lat (ms,95%): 2.22".
func sysbenchSpells(stdout []byte) ([]spell, error) {
	var spells []spell
	for line := range bytes.Lines(stdout) {
		rest, ok := strings.CutPrefix(string(line), "[ ")
		if !ok || strings.HasSuffix(rest, sysbenchCheckpoint+"\n") {
			continue
		}
		at, rest, _ := strings.Cut(rest, "s ] ")
		second, err := number(at)
		if err != nil || second != float64(len(spells)+1) {
			return nil, fmt.Errorf("report: line %q: not of second %d", line, len(spells)+1)
		}
		_, rest, ok = strings.Cut(rest, " eps: ")
		text, _, end := strings.Cut(rest, " ")
		if !ok || !end {
			return nil, fmt.Errorf("report: line %q: no \"eps\"", line)
		}
		rate, err := number(text)
		if err != nil {
			return nil, fmt.Errorf("report: line %q: %w", line, err)
		}
		spells = append(spells, spell{second - 1, second, rate})
	}
	return spells, nil
}

package workload

import (
	"fmt"
	"time"

	"tare/internal/bench"
)

// The workloads that can take turns: their programs count their work and stop at a time, and a
// system call that a freeze interrupts is begun again or goes on.

// Countless: every access pattern counts.
func (fio) Countless(bench.Params) error { return nil }

// Counted counts requests, by the report's longer direction.
func (fio) Counted(p bench.Params, out bench.Output) (work float64, took time.Duration, err error) {
	job, err := fioResult(out.Stdout)
	if err != nil {
		return 0, 0, fmt.Errorf("fio: %w", err)
	}
	var ms int64
	for _, part := range job.parts(p["rw"]) {
		work += float64(part.from.Total)
		ms = max(ms, part.from.Runtime)
	}
	took, err = counted("fio", work, float64(ms)/1e3)
	return work, took, err
}

// Countless: a stream's send is cut short by a freeze, which netperf takes for the end of the test.
// What receives may be frozen.
func (netperf) Countless(p bench.Params) error {
	if p["test"] == "TCP_STREAM" {
		return fmt.Errorf("netperf may end its test %s when it is frozen: %w%w", p["test"], bench.ErrInvalid, bench.Hint("TCP_RR and TCP_MAERTS can take turns"))
	}
	return nil
}

// Counted counts round trips, or millions of bits.
func (netperf) Counted(_ bench.Params, out bench.Output) (work float64, took time.Duration, err error) {
	fields, err := netperfFields(out.Stdout)
	if err != nil {
		return 0, 0, err
	}
	var rate, seconds float64
	for key, into := range map[string]*float64{"THROUGHPUT": &rate, "ELAPSED_TIME": &seconds} {
		text, ok := fields[key]
		if !ok {
			return 0, 0, fmt.Errorf("netperf: %s: %w in %s", key, errMissing, excerpt(out.Stdout))
		}
		if *into, err = positive(text); err != nil {
			return 0, 0, fmt.Errorf("netperf: %s: %w", key, err)
		}
	}
	work = rate * seconds
	took, err = counted("netperf", work, seconds)
	return work, took, err
}

// Countless: an event is small.
func (sysbenchCPU) Countless(bench.Params) error { return nil }

// Counted counts events.
func (sysbenchCPU) Counted(_ bench.Params, out bench.Output) (work float64, took time.Duration, err error) {
	r, err := sysbenchRun(out.Stdout)
	if err != nil {
		return 0, 0, fmt.Errorf("sysbench: %w", err)
	}
	took, err = counted("sysbench", r.events, r.elapsed)
	return r.events, took, err
}

// longest bounds the time that a program may say it has counted.
const longest = 24 * time.Hour

// counted checks what a program says it has counted, and returns the time in which it did.
func counted(program string, work, seconds float64) (time.Duration, error) {
	if !(work > 0) || !(seconds > 0) || seconds > longest.Seconds() {
		return 0, fmt.Errorf("%s: %v counted in %v s", program, work, seconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

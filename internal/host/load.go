package host

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/host/proc"
)

// Load is the host's other work, which a measurement would share the machine with.
type Load struct {
	Average1 float64 `json:"load_average_1min"`
	// Busy, IOWait and Steal are shares of all CPUs' time over Sample, 0 to 1. Busy excludes idle,
	// I/O wait and steal.
	Busy   float64       `json:"busy"`
	IOWait float64       `json:"iowait"`
	Steal  float64       `json:"steal"`
	Sample time.Duration `json:"sample_ns"`
}

// ReadLoad observes the host whose /proc is below root for the duration sample. The kernel counts
// in ticks of 10 ms, so over 200 ms and 2 CPUs the error of a share is about 3 %.
func ReadLoad(ctx context.Context, root string, sample time.Duration) (Load, error) {
	t := tree(root)
	l := Load{Sample: sample}
	text, ok := t.text("/proc/loadavg")
	if !ok {
		return l, fmt.Errorf("read load: no /proc/loadavg")
	}
	first, _, _ := strings.Cut(text, " ")
	average, err := strconv.ParseFloat(first, 64)
	if err != nil || math.IsNaN(average) || math.IsInf(average, 0) || average < 0 {
		return l, fmt.Errorf("read load: /proc/loadavg is %q", text)
	}
	l.Average1 = average
	before, err := readCPU(t)
	if err != nil {
		return l, err
	}
	select {
	case <-ctx.Done():
		return l, fmt.Errorf("read load: %w", context.Cause(ctx))
	case <-time.After(sample):
	}
	after, err := readCPU(t)
	if err != nil {
		return l, err
	}
	l.Busy, l.IOWait, l.Steal = shares(before, after)
	return l, nil
}

// Caveat describes the host's other work, "" if the host is quiet.
func (l Load) Caveat() string {
	var parts []string
	for _, p := range []struct {
		share, most float64
		text        string
	}{
		{l.Busy, 0.1, "%.0f %% of the CPU time went to other work"},
		{l.IOWait, 0.1, "%.0f %% of the CPU time was spent waiting for disks"},
		{l.Steal, 0.02, "%.0f %% of the CPU time was stolen by the outer host"},
	} {
		if p.share > p.most {
			parts = append(parts, fmt.Sprintf(p.text, 100*p.share))
		}
	}
	return strings.Join(parts, "; ")
}

func readCPU(t tree) (proc.CPU, error) {
	text, ok := t.text("/proc/stat")
	if !ok {
		return proc.CPU{}, fmt.Errorf("read load: no /proc/stat")
	}
	c, err := proc.ParseStat([]byte(text))
	if err != nil {
		return proc.CPU{}, fmt.Errorf("read load: %w", err)
	}
	return c, nil
}

// shares returns the shares of the time between two readings. Without elapsed time all are 0.
func shares(before, after proc.CPU) (busy, iowait, steal float64) {
	busyOf := func(c proc.CPU) float64 { return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ }
	all := func(c proc.CPU) float64 { return busyOf(c) + c.Idle + c.IOWait + c.Steal }
	total := all(after) - all(before)
	if total <= 0 {
		return 0, 0, 0
	}
	// I/O wait may run backwards by a tick (proc_stat(5)).
	share := func(from, to float64) float64 { return min(max((to-from)/total, 0), 1) }
	return share(busyOf(before), busyOf(after)), share(before.IOWait, after.IOWait), share(before.Steal, after.Steal)
}

package host

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Load is what the host does besides Tare: work that a measurement would share
// the machine with.
type Load struct {
	Average1 float64 `json:"load_average_1min"`
	// Busy, IOWait and Steal are shares of all CPUs' time over Sample, 0 to 1;
	// busy leaves out idle, I/O wait and steal.
	Busy   float64       `json:"busy"`
	IOWait float64       `json:"iowait"`
	Steal  float64       `json:"steal"`
	Sample time.Duration `json:"sample_ns"`
}

// ReadLoad watches the host whose /proc lies below root for the sample's time.
// The kernel counts in ticks of 10 ms: over 200 ms and 2 CPUs a share is good
// to about 3 %.
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
	before, err := readTicks(t)
	if err != nil {
		return l, err
	}
	select {
	case <-ctx.Done():
		return l, fmt.Errorf("read load: %w", context.Cause(ctx))
	case <-time.After(sample):
	}
	after, err := readTicks(t)
	if err != nil {
		return l, err
	}
	if total := after.total() - before.total(); total > 0 {
		l.Busy = share(after.busy-before.busy, total)
		l.IOWait = share(after.iowait-before.iowait, total)
		l.Steal = share(after.steal-before.steal, total)
	}
	return l, nil
}

// Caveat says in plain words that the host is not quiet, "" if it is.
func (l Load) Caveat() string {
	var parts []string
	for _, p := range []struct {
		share, most float64
		text        string
	}{
		{l.Busy, 0.1, "%.0f %% of the CPU time goes to other work right now"},
		{l.IOWait, 0.1, "%.0f %% of the CPU time waits for disks right now"},
		{l.Steal, 0.02, "%.0f %% of the CPU time is stolen by the outer host right now"},
	} {
		if p.share > p.most {
			parts = append(parts, fmt.Sprintf(p.text, 100*p.share))
		}
	}
	return strings.Join(parts, "; ")
}

// ticks are the counters of the first line of /proc/stat that Load needs.
type ticks struct{ busy, idle, iowait, steal float64 }

func (t ticks) total() float64 { return t.busy + t.idle + t.iowait + t.steal }

// share is a part of the whole; I/O wait may run backwards by a tick (proc_stat(5)).
func share(part, whole float64) float64 { return min(max(part/whole, 0), 1) }

func readTicks(t tree) (ticks, error) {
	text, _ := t.text("/proc/stat")
	line, _, _ := strings.Cut(text, "\n")
	return parseTicks(line)
}

// parseTicks reads "cpu user nice system idle iowait irq softirq steal ...".
// Guest time, which follows, is in user time already.
func parseTicks(line string) (ticks, error) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return ticks{}, fmt.Errorf("read load: /proc/stat begins with %q", line)
	}
	var n [8]float64
	for i := range n {
		v, err := strconv.ParseUint(f[i+1], 10, 64)
		if err != nil {
			return ticks{}, fmt.Errorf("read load: /proc/stat: %q in %q is not a count", f[i+1], line)
		}
		n[i] = float64(v)
	}
	return ticks{busy: n[0] + n[1] + n[2] + n[5] + n[6], idle: n[3], iowait: n[4], steal: n[7]}, nil
}

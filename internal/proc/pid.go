package proc

import (
	"bytes"
	"fmt"
)

// ParseSchedstat reads the time a task has run, in seconds, from
// /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst).
func ParseSchedstat(b []byte) (float64, error) {
	f, _ := nextField(bytes.TrimRight(b, "\n"))
	n, ok := number(f)
	if !ok {
		return 0, fmt.Errorf("proc schedstat: %q is not a number", f)
	}
	return float64(n) / 1e9, nil
}

// Keyed reads the value of a key from a flat keyed file such as a cgroup's
// cpu.stat or memory.stat.
func Keyed(b []byte, key string) (float64, bool) {
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		name, rest := nextField(line)
		if string(name) != key {
			continue
		}
		f, _ := nextField(rest)
		n, ok := number(f)
		return float64(n), ok
	}
	return 0, false
}

// Single reads a file that holds one number.
func Single(b []byte) (float64, bool) {
	n, ok := number(bytes.TrimSpace(b))
	return float64(n), ok
}

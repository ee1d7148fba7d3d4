package proc

import (
	"bytes"
	"fmt"
)

// Process is what /proc/PID/stat says of a process. Times are in seconds; those
// of reaped children are in ChildUser and ChildSystem.
type Process struct {
	Comm                                 string
	State                                byte
	Parent                               int
	User, System, ChildUser, ChildSystem float64
	Start                                uint64 // ticks after boot: tells a process from a later one with its number
	RSS                                  int64  // pages
}

// ParseProcess reads /proc/PID/stat. The command may contain anything,
// including blanks and parentheses; the last parenthesis ends it.
func ParseProcess(b []byte) (Process, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open || end+2 >= len(b) {
		return Process{}, fmt.Errorf("proc pid stat: %q has no command in parentheses", b)
	}
	p := Process{Comm: string(b[open+1 : end])}
	rest := bytes.TrimRight(b[end+1:], "\n")
	state, rest := nextField(rest)
	if len(state) != 1 {
		return p, fmt.Errorf("proc pid stat: state %q", state)
	}
	p.State = state[0]
	var f []byte
	for i := 4; i <= 24; i++ { // field numbers as in proc_pid_stat(5)
		if f, rest = nextField(rest); len(f) == 0 {
			return p, fmt.Errorf("proc pid stat: %q ends before field %d", b, i)
		}
		switch i {
		case 4, 14, 15, 16, 17, 22, 24:
		default:
			continue
		}
		neg := f[0] == '-'
		if neg {
			f = f[1:]
		}
		n, ok := number(f)
		if !ok {
			return p, fmt.Errorf("proc pid stat: field %d: %q is not a number", i, f)
		}
		if neg {
			n = 0
		}
		switch s := float64(n) / TicksPerSecond; i {
		case 4:
			p.Parent = int(n)
		case 14:
			p.User = s
		case 15:
			p.System = s
		case 16:
			p.ChildUser = s
		case 17:
			p.ChildSystem = s
		case 22:
			p.Start = n
		case 24:
			p.RSS = int64(n)
		}
	}
	return p, nil
}

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

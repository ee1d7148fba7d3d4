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

// Sched holds the scheduler's counters of a task since its start
// (Documentation/scheduler/sched-stats.rst).
type Sched struct {
	Ran        uint64 // nanoseconds on a CPU; for a running task at most one kernel tick old
	Waited     uint64 // nanoseconds runnable without a CPU
	Executions uint64 // times it was put on a CPU
}

// ParseSched reads all of /proc/PID/task/TID/schedstat.
func ParseSched(b []byte) (Sched, error) {
	var n [3]uint64
	got, err := numbers(bytes.TrimRight(b, "\n"), n[:])
	if err != nil {
		return Sched{}, fmt.Errorf("proc schedstat: %w", err)
	}
	if got < len(n) {
		return Sched{}, fmt.Errorf("proc schedstat: %q has %d of 3 numbers", b, got)
	}
	return Sched{n[0], n[1], n[2]}, nil
}

// Task holds the fields that identify a task (proc_pid_stat(5)).
type Task struct {
	Name    []byte // valid as long as the buffer it was read from
	Exiting bool   // it has begun to end
	Start   uint64 // ticks after boot
}

// exiting is PF_EXITING of the kernel's include/linux/sched.h.
const exiting = 4

// ParseTask reads /proc/PID/task/TID/stat.
func ParseTask(b []byte) (Task, error) {
	i, j := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if i < 0 || j < i {
		return Task{}, fmt.Errorf("proc stat of a task: no name in %q", b)
	}
	t := Task{Name: b[i+1 : j]}
	rest := bytes.TrimRight(b[j+1:], "\n")
	for field := 3; field <= 22; field++ {
		var f []byte
		f, rest = nextField(rest)
		n, ok := number(f)
		switch {
		case field != 9 && field != 22:
			if len(f) == 0 {
				return Task{}, fmt.Errorf("proc stat of a task: %q has too few fields", b)
			}
		case !ok:
			return Task{}, fmt.Errorf("proc stat of a task: %q is not a number", f)
		case field == 9:
			t.Exiting = n&exiting != 0
		default:
			t.Start = n
		}
	}
	return t, nil
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

// Process holds whose a process is and what it used (proc_pid_stat(5)).
type Process struct {
	Name   []byte // of its program, at most 15 bytes; valid as long as the buffer it was read from
	Parent int
	Kernel bool   // it is a kernel thread
	Start  uint64 // ticks after boot
	// Own is the CPU time of its threads, Children that of its children that it has waited for, and
	// of theirs. Both are in ticks.
	Own, Children uint64
}

// kernelThread is PF_KTHREAD of the kernel's include/linux/sched.h.
const kernelThread = 0x00200000

// ParseProcess reads /proc/PID/stat.
func ParseProcess(b []byte) (Process, error) {
	i, j := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if i < 0 || j < i {
		return Process{}, fmt.Errorf("proc stat of a process: no name in %q", b)
	}
	p := Process{Name: b[i+1 : j]}
	_, rest := nextField(bytes.TrimRight(b[j+1:], "\n")) // its state
	for field := 4; field <= 22; field++ {
		var f []byte
		if f, rest = nextField(rest); len(f) == 0 {
			return Process{}, fmt.Errorf("proc stat of a process: %q has too few fields", b)
		}
		n, ok := number(f)
		switch field {
		case 4:
			p.Parent = int(n)
		case 9:
			p.Kernel = n&kernelThread != 0
		case 14, 15:
			p.Own += n
		case 16, 17:
			p.Children += n
		case 22:
			p.Start = n
		default:
			continue // some of these are below 0
		}
		if !ok || n > 1<<62 {
			return Process{}, fmt.Errorf("proc stat of a process: %q is not a number of field %d", f, field)
		}
	}
	return p, nil
}

package agent

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// hello describes the agent and its instance. Unknown fields stay empty.
func (s *server) hello() Hello {
	h := Hello{
		Version: Version, MinVersion: MinVersion, Agent: AgentVersion,
		PID: os.Getpid(), OwnKernel: s.opts.OwnKernel, CPUs: usableCPUs(),
		Columns: s.columns, Now: clock.Now(), Began: s.opts.Began, Serving: s.serving,
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
		h.Hostname = unix.ByteSliceToString(u.Nodename[:])
	}
	// The raw system call returns 20 minus the nice value (getpriority(2)).
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		h.Nice = 20 - raw
	}
	return h
}

// Bounds of an agent's hello. Guests are not trusted.
const (
	maxColumns = 256
	maxCPUs    = 1 << 16
)

// check returns an error unless the hello is plausible.
func (h *Hello) check() error {
	if len(h.Columns) > maxColumns || len(h.CPUs) > maxCPUs || len(h.Kernel) > maxWords || len(h.Hostname) > maxWords || len(h.Agent) > maxWords {
		return fmt.Errorf("its hello has %d columns, %d CPUs and texts of %d, %d and %d bytes: at most %d, %d and %d", len(h.Columns), len(h.CPUs),
			len(h.Kernel), len(h.Hostname), len(h.Agent), maxColumns, maxCPUs, maxWords)
	}
	seen := map[string]bool{}
	for _, c := range h.Columns {
		if seen[c] || c == "" || len(c) > 64 || strings.Trim(c, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fmt.Errorf("its hello has a column %.64q, twice or not of a-z, 0-9 and _", c)
		}
		seen[c] = true
	}
	for _, at := range [...]int64{h.Now, h.Began, h.Serving} {
		if at < 0 || at > bench.MaxInstant {
			return fmt.Errorf("its hello has a time of %d ns", at)
		}
	}
	return nil
}

func usableCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	cpus := make([]int, 0, set.Count())
	for cpu := 0; len(cpus) < cap(cpus); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// dedicate gives the whole process to the agent. Orphaned descendants become its children. The
// launcher's nice value is reset. With its own kernel the agent lowers its nice value, so that it
// reads its counters in time. On the host's kernel the host does so after the greeting. A nice
// value that may not be lowered stays, and the hello reports it.
func dedicate(ownKernel bool) error {
	nice := 0
	if ownKernel {
		nice = -20
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("agent: adopt orphaned descendants: %w%w", err, bench.Hint("Linux 3.4 or later is needed"))
	}
	tasks, err := os.ReadDir("/proc/self/task") // on Linux each thread has a nice value of its own
	if err != nil {
		return fmt.Errorf("agent: list own threads: %w%w", err, bench.Hint("/proc must be mounted in the instance"))
	}
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
		}
	}
	return nil
}

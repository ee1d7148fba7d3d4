package agent

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/clock"
)

// hello describes the agent and its instance. What cannot be found out stays empty.
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

// dedicate gives the whole process to the agent: orphaned descendants become
// its children, and a nice value the launcher had is undone. With a kernel of
// its own the agent favours itself, so that it reads its counters in time; where
// it shares the host's, the host does so after the greeting. A nice value that
// may not be lowered stays, and the hello tells.
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

package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/cgroup"
)

// diagnose adds to the error of a trial, whose instances are still there, what
// the host and the guests know of its cause.
func (x *trial) diagnose(ctx context.Context, err error) error {
	for _, a := range x.actors {
		if a.instance == nil || a.cage != nil { // what is caged is meant to run out
			continue
		}
		if n := x.outOfMemory(a); n > 0 {
			return fmt.Errorf("%w%w; %s ran out of memory: the host's kernel killed %s of its control group", moreMemory, err, a.Name, processes(n))
		}
		if n := a.guestOutOfMemory(ctx); n > 0 {
			return fmt.Errorf("%w%w; %s ran out of memory: its own kernel killed %s", moreMemory, err, a.Name, processes(n))
		}
		if a.client == nil && saysOutOfMemory(a.outcome.Log) {
			return fmt.Errorf("%w%w; %s does not fit into its memory", moreMemory, err, a.Name)
		}
	}
	return err
}

const moreMemory = bench.Hint("give it more memory (shape.memory), or less to do")

func processes(n int) string {
	if n == 1 {
		return "a process"
	}
	return strconv.Itoa(n) + " processes"
}

// outOfMemory counts the processes that the host's kernel killed in the actor's
// control group, which drivers name by run and launch.
func (x *trial) outOfMemory(a *actor) int {
	host, err := cgroup.Detect()
	if err != nil {
		return 0
	}
	n, err := host.Group(bench.Launch{ID: a.id, Cage: x.around(a)}.Group(x.ID)).OutOfMemory()
	if err != nil {
		return 0 // an error is explained as far as can be
	}
	return n
}

// guestOutOfMemory counts those that the guest's own kernel killed, if it still answers.
func (a *actor) guestOutOfMemory(ctx context.Context) int {
	if a.client == nil || a.outcome.Scope == nil || !a.outcome.Scope.OwnKernel {
		return 0
	}
	out, err := a.client.Exec(ctx, bench.Command{Argv: []string{"cat", "/proc/vmstat"}, Timeout: answerDeadline})
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(out.Stdout)) {
		if number, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// saysOutOfMemory reports whether a guest's console has the last words of a
// kernel that does not fit.
func saysOutOfMemory(log string) bool {
	for _, words := range []string{"System is deadlocked on memory", "Out of memory:", "not enough memory", "Cannot allocate memory"} {
		if strings.Contains(log, words) {
			return true
		}
	}
	return false
}

// inUse adds advice to the error of a launch whose disk another monitor has locked,
// which QEMU says in these words whoever started it.
func inUse(err error) error {
	if bench.HintOf(err) != "" || !strings.Contains(err.Error(), "Is another process using the image") {
		return err
	}
	return fmt.Errorf("%w%w", err, bench.Hint("another program has the disk open for writing: find it with fuser or lsof, end it and try again"))
}

// unanswered adds advice to the error of an instance whose agent did not greet.
func unanswered(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) || bench.HintOf(err) != "" {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w%w", err, bench.Hint("if it was only slow, raise timing.deadline; its last words are in report.html"))
	}
	return fmt.Errorf("%w%w", err, bench.Hint("it ended before it was up: its last words are in report.html"))
}

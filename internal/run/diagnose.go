package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// diagnose adds to the error of a trial, whose instances are still there, what
// the host and the guests know of its cause.
func diagnose(ctx context.Context, actors cast, err error) error {
	for _, a := range actors {
		if a.instance == nil || a.contained != nil { // what is contained is meant to run out
			continue
		}
		if n := a.outOfMemory(); n > 0 {
			return fmt.Errorf("%w%w; %s ran out of memory: the host's kernel killed %s of its control group", moreMemory, err, a.Name, processes(n))
		}
		if n := killedInside(ctx, a); n > 0 {
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
func (a *actor) outOfMemory() int {
	host, err := cgroup.Detect()
	if err != nil {
		return 0
	}
	n, err := host.Group(bench.Launch{ID: a.id, Containment: a.around}.Group(a.run)).OutOfMemory()
	if err != nil {
		return 0 // an error is explained as far as can be
	}
	return n
}

// killedInside counts those that the guest's own kernel killed, if it still answers.
func killedInside(ctx context.Context, a *actor) int {
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

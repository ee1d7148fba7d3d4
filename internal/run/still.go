package run

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

const (
	// wakes is how often a stillness looks at the clock.
	wakes = 200 * time.Millisecond
	// stillLimit is how long a trial may stand still, in all, and be believed.
	stillLimit = 2 * time.Second
)

var errStill = errors.New("the run stood still")

// A stillness finds out how long this process did not run though it was to: suspended with the host, paused with the virtual machine that is
// the host, stopped by a signal or a freezer. It asks for a CPU every [wakes]; what it comes late by is counted, by a clock that goes on
// while the host is suspended, except for the time that its thread waited for a CPU (/proc/PID/schedstat): a starved host stands not still.
type stillness struct {
	stop chan struct{}
	wg   sync.WaitGroup
	sum  time.Duration // of the times it came late by more than wakes
}

func watchStillness() *stillness {
	s := &stillness{stop: make(chan struct{})}
	s.wg.Go(func() {
		runtime.LockOSThread() // the time spent waiting is a thread's
		defer runtime.UnlockOSThread()
		began, waited := awake(), waitedForCPU()
		for {
			select {
			case <-s.stop:
				return
			case <-time.After(wakes):
			}
			now, waits := awake(), waitedForCPU()
			if late := now - began - wakes - (waits - waited); late > wakes {
				s.sum += late
			}
			began, waited = now, waits
		}
	})
	return s
}

// end ends the watch; it is an error if the process stood still for longer than [stillLimit].
func (s *stillness) end() error {
	close(s.stop)
	s.wg.Wait()
	if s.sum < stillLimit {
		return nil
	}
	return fmt.Errorf("%w for %.1f s in the trial: the host was suspended or paused, or tare stopped%w", errStill, s.sum.Seconds(),
		bench.Hint("keep the host awake; to measure the trial again remove its line from trials.jsonl, then tare resume"))
}

// awake is CLOCK_BOOTTIME, which goes on while the host is suspended.
func awake() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("clock_gettime: " + err.Error()) // as in package clock
	}
	return time.Duration(ts.Nano())
}

// waitedForCPU is how long the thread has waited for a CPU; 0 where the kernel does not count it, so that waiting is taken for standing still
// only if it lasts.
func waitedForCPU() time.Duration {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}

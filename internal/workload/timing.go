package workload

import (
	"fmt"
	"strconv"
	"time"

	"tare/internal/bench"
)

const (
	// slack is granted to every command for starting and ending on a busy or
	// emulated machine.
	slack = 2 * time.Minute
	// serviceLimit ends a service that nobody killed.
	serviceLimit = 2 * time.Hour
)

// wholeSeconds writes d for a program that knows only whole seconds, rounded up.
func wholeSeconds(d time.Duration) string { return strconv.FormatInt(whole(d), 10) }

func whole(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// timeout is the hard limit of a command that should take about expected: the
// deadline of the specification if there is one, and far more than expected
// otherwise, since it is there for programs that spin for ever.
func timeout(t bench.Timing, expected time.Duration) (time.Duration, error) {
	if t.Deadline == 0 {
		return 3*expected + slack, nil
	}
	if t.Deadline <= expected {
		return 0, fmt.Errorf("deadline of %v: a command is meant to run for %v: %w%w", t.Deadline, expected,
			bench.ErrInvalid, bench.Hint("give it more time than warm-up and measurement together, or leave it out"))
	}
	return t.Deadline, nil
}

// measured returns the measuring time, which must be positive: to most load
// generators zero means for ever.
func measured(t bench.Timing) (time.Duration, error) {
	if t.Measure <= 0 {
		return 0, fmt.Errorf("measuring time of %v: must be positive: %w", t.Measure, bench.ErrInvalid)
	}
	if t.Warmup < 0 {
		return 0, fmt.Errorf("warm-up of %v: must not be negative: %w", t.Warmup, bench.ErrInvalid)
	}
	return t.Measure, nil
}

// unknownPart is the error of Steps for a part the workload does not have.
func unknownPart(w bench.Workload, part string) error {
	return fmt.Errorf("%s: %w: %w", w.Name(), bench.UnknownWord("part", part, append([]string{bench.SubjectPart}, w.Parts()...)), bench.ErrInvalid)
}

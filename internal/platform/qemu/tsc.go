package qemu

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// tscWindow is how long the counter is watched: long enough that the microsecond
// between the two readings of a pair is no more than 50 parts in a million.
const tscWindow = 20 * time.Millisecond

// tscKHz measures how fast the host's time-stamp counter runs, in kHz. An emulated guest
// sees the same counter; a machine without any other clock has to be told. What
// /proc/cpuinfo says is how fast the CPU is at the moment, not its counter.
func tscKHz() (int, error) {
	if !hasTSC {
		return 0, fmt.Errorf("the host has no time-stamp counter: %w%w", bench.ErrUnavailable, bench.Hint("use machine=q35 or pc"))
	}
	began, first, err := tscPair()
	if err != nil {
		return 0, err
	}
	time.Sleep(tscWindow)
	ended, last, err := tscPair()
	if err != nil {
		return 0, err
	}
	if last <= first || ended <= began {
		return 0, fmt.Errorf("the host's time-stamp counter does not advance: %w%w", bench.ErrUnavailable, bench.Hint("use machine=q35 or pc"))
	}
	return int(float64(last-first) / float64(ended-began) * 1e6), nil
}

// tscPair reads clock (nanoseconds) and counter at once: of several attempts
// the one in which least time went by.
func tscPair() (ns int64, tsc uint64, err error) {
	best := int64(-1)
	for range 10 {
		var a, b unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &a); err != nil {
			return 0, 0, fmt.Errorf("read the clock: %w", err)
		}
		counter := rdtsc()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &b); err != nil {
			return 0, 0, fmt.Errorf("read the clock: %w", err)
		}
		if took := b.Nano() - a.Nano(); best < 0 || took < best {
			best, ns, tsc = took, a.Nano()+took/2, counter
		}
	}
	return ns, tsc, nil
}

package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Levels are all there are.
var Levels = []Level{Guest, Inner, Outer, Layer, Host, Power}

// What can be true, whoever says so: of a guest, a host and a file. The bounds
// are far from what is measured, and close enough that sums, squares and
// quotients of two quantities are numbers, and that every axis ends.
const (
	// MaxInstant bounds an instant of a monotonic clock and the distance of two, in nanoseconds: 36 years.
	MaxInstant = 1 << 60
	// MaxMemory bounds memory in use now: 1 PiB.
	MaxMemory = 1 << 50
	// maxCount is where the kernel's counters of bytes, packets and operations end.
	maxCount = 1 << 64
	// maxSeconds bounds a counter of CPU time: 8192 CPUs for 36 years.
	maxSeconds = 1e13
	maxWatts   = 1e6
	// maxQuantity bounds what a program measures, in whatever unit.
	maxQuantity = 1e18
	// minQuantity is the least above 0: only rounding comes closer to 0, to 1e-17 or so.
	minQuantity = 1e-100
)

// modest is what every column may hold, so that most readings need no further look.
const modest = maxWatts

// betweenBusy is a kernel's busy time too, found as [ColCPUBusy] is.
var betweenBusy = CPUOf(PartBetween)

// CheckReading is an error unless a reading of the column can be true.
func CheckReading(column string, v float64) error {
	if v == 0 || v >= minQuantity && v <= modest {
		return nil
	}
	if err := CheckQuantity(v); err != nil && !(v > maxQuantity && v <= maxCount) {
		return err
	}
	// A machine's busy time is found by subtraction and counts from anywhere.
	if v < 0 && column != ColCPUBusy && column != betweenBusy {
		return fmt.Errorf("%g is negative", v)
	}
	most, of := float64(maxCount), "the kernel's counters hold"
	switch {
	case column == ColPower:
		most, of = maxWatts, "a machine draws, in W,"
	case strings.HasPrefix(column, "mem_"):
		most, of = MaxMemory, "a host has of memory, in bytes,"
	case strings.HasSuffix(column, "_s"):
		most, of = maxSeconds, "CPUs run, in s,"
	}
	if math.Abs(v) > most {
		return fmt.Errorf("%g is more than %s: at most %g", v, of, most)
	}
	return nil
}

// CheckQuantity is an error unless what was measured or worked out can be true in some unit.
func CheckQuantity(v float64) error {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Errorf("%v is no number", v)
	case a > maxQuantity:
		return fmt.Errorf("%g is out of all measure: at most %g", v, maxQuantity)
	case a < minQuantity && a != 0:
		return fmt.Errorf("%g is out of all measure: at least %g", v, minQuantity)
	}
	return nil
}

// CheckInstant is an error unless a monotonic clock can show the time, in
// nanoseconds, or differ from another by it.
func CheckInstant(ns int64) error {
	if ns < -MaxInstant || ns > MaxInstant {
		return fmt.Errorf("%d ns is no time of a monotonic clock: at most %d, 36 years", ns, int64(MaxInstant))
	}
	return nil
}

// Check is an error unless the sample can be true.
func (s *Sample) Check() error {
	if !slices.Contains(Levels, s.Level) {
		return fmt.Errorf("level %q is none of %v", s.Level, Levels)
	}
	for _, ns := range [...]int64{s.At, s.Late, s.Took, s.CPU, s.Guest} {
		if err := CheckInstant(ns); err != nil {
			return err
		}
	}
	for column, v := range s.Values {
		if err := CheckReading(column, v); err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
	}
	return nil
}

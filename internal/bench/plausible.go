package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Levels lists all levels.
var Levels = []Level{Guest, Inner, Outer, Layer, Host, Power}

// Bounds of plausible values, from a guest, a host or a file. They are far above real measurements.
// They are small enough that sums, squares and quotients of two values stay finite, and so do axes.
const (
	// MaxInstant bounds an instant of a monotonic clock and the difference of two, in nanoseconds:
	// 36 years.
	MaxInstant = 1 << 60
	// MaxMemory bounds memory in use now: 1 PiB.
	MaxMemory = 1 << 50
	// maxCount is where the kernel's counters of bytes, packets and operations end.
	maxCount = 1 << 64
	// maxSeconds bounds a counter of CPU time: 8192 CPUs for 36 years.
	maxSeconds = 1e13
	maxWatts   = 1e6
	// maxQuantity bounds a program's result in any unit.
	maxQuantity = 1e18
	// minQuantity is the smallest value above 0. Rounding errors are larger, about 1e-17.
	minQuantity = 1e-100
)

// modest is a value that every column may hold, so that most readings need no further check.
const modest = maxWatts

// betweenBusy is a kernel's busy time too, computed as [ColCPUBusy] is.
var betweenBusy = CPUOf(PartBetween)

// CheckReading returns an error unless the column can have the value.
func CheckReading(column string, v float64) error {
	if v == 0 || v >= minQuantity && v <= modest {
		return nil
	}
	if err := CheckQuantity(v); err != nil && !(v > maxQuantity && v <= maxCount) {
		return err
	}
	// A machine's busy time is computed by subtraction and has an arbitrary start, so it may be
	// negative.
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

// CheckQuantity returns an error unless a measured or computed value is plausible in some unit.
func CheckQuantity(v float64) error {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Errorf("%v is not a number", v)
	case a > maxQuantity:
		return fmt.Errorf("%g is out of all measure: at most %g", v, maxQuantity)
	case a < minQuantity && a != 0:
		return fmt.Errorf("%g is out of all measure: at least %g", v, minQuantity)
	}
	return nil
}

// CheckInstant returns an error unless ns can be an instant of a monotonic clock, or the difference
// of two, in nanoseconds.
func CheckInstant(ns int64) error {
	if ns < -MaxInstant || ns > MaxInstant {
		return fmt.Errorf("%d ns is not a time of a monotonic clock: at most %d, 36 years", ns, int64(MaxInstant))
	}
	return nil
}

// CheckInstants returns an error unless the sample's times are plausible.
func (s *Sample) CheckInstants() error {
	for _, ns := range [...]int64{s.At, s.Late, s.Took, s.CPU, s.Guest} {
		if err := CheckInstant(ns); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error unless the sample is plausible.
func (s *Sample) Check() error {
	if !slices.Contains(Levels, s.Level) {
		return fmt.Errorf("level %q is none of %v", s.Level, Levels)
	}
	if err := s.CheckInstants(); err != nil {
		return err
	}
	for column, v := range s.Values {
		if err := CheckReading(column, v); err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
	}
	return nil
}

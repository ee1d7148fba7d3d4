// Package clock reads the clocks Tare measures with.
package clock

import "golang.org/x/sys/unix"

// Now returns CLOCK_MONOTONIC in nanoseconds. All processes of one kernel see
// the same clock, whatever their namespaces, unless they are in a time
// namespace of their own (clock_gettime(2), time_namespaces(7)).
func Now() int64 { return read(unix.CLOCK_MONOTONIC) }

// ThreadCPU returns the CPU time of the calling thread in nanoseconds
// (CLOCK_THREAD_CPUTIME_ID). A difference of two readings means something only
// while the goroutine is locked to its thread.
func ThreadCPU() int64 { return read(unix.CLOCK_THREAD_CPUTIME_ID) }

// read panics only for a clock id the kernel does not know, which both above are.
func read(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("clock_gettime: " + err.Error())
	}
	return ts.Nano()
}

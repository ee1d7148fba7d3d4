// Package clock reads the clocks that Tare measures with.
package clock

import "golang.org/x/sys/unix"

// Now returns CLOCK_MONOTONIC in nanoseconds. All processes of one kernel see the same clock,
// except those in another time namespace (clock_gettime(2), time_namespaces(7)).
func Now() int64 { return read(unix.CLOCK_MONOTONIC) }

// ThreadCPU returns the CPU time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID). A
// difference of two readings is valid only while the goroutine is locked to its thread.
func ThreadCPU() int64 { return read(unix.CLOCK_THREAD_CPUTIME_ID) }

// read panics only for a clock id that the kernel does not know. Both ids above are known.
func read(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("clock_gettime: " + err.Error())
	}
	return ts.Nano()
}

package clock

import (
	"runtime"
	"testing"
	"time"
)

func TestNowNeverGoesBack(t *testing.T) {
	prev := Now()
	for range 1000 {
		now := Now()
		if now < prev {
			t.Fatalf("Now went from %d to %d", prev, now)
		}
		prev = now
	}
}

func TestThreadCPUGrowsWithWorkAndNotWithSleep(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := ThreadCPU()
	for ThreadCPU() == start {
	}
	before, wall := ThreadCPU(), Now()
	time.Sleep(50 * time.Millisecond)
	if cpu, slept := ThreadCPU()-before, Now()-wall; cpu >= slept {
		t.Errorf("sleeping %d ns cost %d ns of CPU", slept, cpu)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

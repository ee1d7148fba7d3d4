package clock

import (
	"context"
	"errors"
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

func TestSleepUntil(t *testing.T) {
	at := Now() + int64(5*time.Millisecond)
	if err := SleepUntil(context.Background(), at); err != nil || Now() < at {
		t.Errorf("woke %d ns early, error %v", at-Now(), err)
	}
	if err := SleepUntil(context.Background(), at); err != nil {
		t.Errorf("an instant in the past: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := SleepUntil(ctx, Now()+int64(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	if err := SleepUntil(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, instant in the past: got %v", err)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

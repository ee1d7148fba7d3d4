package host

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/host/proc"
)

func TestShares(t *testing.T) {
	before := proc.CPU{User: 1, System: 1, Idle: 10, IOWait: 0.1, Steal: 0.2}
	after := proc.CPU{User: 1.3, System: 1.2, Idle: 10.4, IOWait: 0.1, Steal: 0.3}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	busy, iowait, steal := shares(before, after)
	if !near(busy, 0.5) || !near(steal, 0.1) || iowait != 0 {
		t.Errorf("busy %v, I/O wait %v, steal %v", busy, iowait, steal)
	}
	if busy, iowait, steal := shares(after, after); busy != 0 || iowait != 0 || steal != 0 {
		t.Errorf("over no time: busy %v, I/O wait %v, steal %v", busy, iowait, steal)
	}
	c := Load{Busy: 0.5, Steal: 0.1}.Caveat()
	if !strings.Contains(c, "50 % of the CPU time went to other work") || !strings.Contains(c, "10 % of the CPU time was stolen") {
		t.Errorf("caveat %q", c)
	}
	if c := (Load{Busy: 0.05}).Caveat(); c != "" {
		t.Errorf("a quiet host has the caveat %q", c)
	}
}

func TestReadLoad(t *testing.T) {
	l, err := ReadLoad(context.Background(), plant(t, "metal-v2"), 0)
	if err != nil || l.Average1 != 0.10 || l.Busy != 0 {
		t.Errorf("load %+v, %v", l, err)
	}
	l, err = ReadLoad(context.Background(), "/", 50*time.Millisecond) // this host
	if err != nil || l.Busy+l.IOWait+l.Steal > 1.0001 {
		t.Errorf("load %+v, %v", l, err)
	}
}

func TestReadLoadRefuses(t *testing.T) {
	for _, c := range []struct{ file, text string }{
		{"proc/loadavg", "NaN 0 0"}, {"proc/loadavg", ""}, {"proc/loadavg", "-1 0 0"},
		{"proc/stat", "cpu 1 2"}, {"proc/stat", "cpu0 1 2 3 4 5 6 7 8"}, {"proc/stat", "cpu  1 2 x 4 5 6 7 8"},
	} {
		root := plant(t, "metal-v2")
		put(t, root, c.file, c.text)
		if l, err := ReadLoad(context.Background(), root, 0); err == nil {
			t.Errorf("%s with %q read as %+v", c.file, c.text, l)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadLoad(ctx, plant(t, "metal-v2"), time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

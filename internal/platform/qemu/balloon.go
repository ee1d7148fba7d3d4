package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

const (
	balloonPoll = 50 * time.Millisecond
	// balloonSettled is how long a guest's memory stays the same that gives no more back.
	balloonSettled = 2 * time.Second
)

// Balloon implements [bench.Ballooned] by virtio-balloon. A guest that cannot
// spare as much keeps what it needs, which is not an error.
func (i *instance) Balloon(ctx context.Context, to bench.Bytes) (b bench.Balloon, ok bool, err error) {
	if i.asked.Options[optBalloon] != "yes" || i.moved != nil {
		return b, false, nil
	}
	if b, err = i.inflate(ctx, to); err != nil {
		return b, false, fmt.Errorf("balloon of %s: %w", i.asked.ID, err)
	}
	return b, true, nil
}

func (i *instance) inflate(ctx context.Context, to bench.Bytes) (b bench.Balloon, err error) {
	b.Target = to
	if b.Before, err = resident(i.cmd.Process.Pid); err != nil {
		return b, err
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := i.monitor.SetDeadline(deadline); err != nil {
			return b, err
		}
		defer func() { err = errors.Join(err, i.monitor.SetDeadline(time.Time{})) }()
	}
	if err := i.monitor.agree(); err != nil {
		return b, err
	}
	began := clock.Now()
	if err := i.monitor.Call("balloon", map[string]any{"value": int64(to)}, nil); err != nil {
		return b, err
	}
	changed := began
	for {
		var info struct {
			Actual bench.Bytes `json:"actual"` // memory of the guest, without the balloon
		}
		if err := i.monitor.Execute("query-balloon", &info); err != nil {
			return b, err
		}
		now := clock.Now()
		if info.Actual != b.Actual {
			b.Actual, changed = info.Actual, now
			b.MS = float64(now-began) / 1e6
		}
		if b.Actual <= to || time.Duration(now-changed) > balloonSettled {
			break
		}
		select {
		case <-ctx.Done():
			return b, context.Cause(ctx)
		case <-time.After(balloonPoll):
		}
	}
	b.After, err = resident(i.cmd.Process.Pid)
	return b, err
}

// resident is the memory a process has now, by the second number of its statm (proc(5)).
func resident(pid int) (bench.Bytes, error) {
	path := fmt.Sprintf("/proc/%d/statm", pid)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s ended: %w", program, err)
	}
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: %q", path, text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return bench.Bytes(pages) * bench.Bytes(os.Getpagesize()), nil
}

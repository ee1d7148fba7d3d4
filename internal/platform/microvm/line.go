package microvm

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"tare/internal/platform/launch"
)

// How often a socket is tried that the monitor is about to make, and for how long.
const (
	tryEvery = time.Millisecond
	tryFor   = 30 * time.Second
)

// dial connects to a socket that the process makes in dir. It is reached through the
// directory's descriptor because a socket's path may have 107 bytes only (unix(7)).
func dial(ctx context.Context, p *launch.Process, dir, name string) (net.Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	path := fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err == nil {
			return conn, nil
		}
		select {
		case <-p.Done():
			return nil, fmt.Errorf("the monitor ended: %s", p.State())
		case <-ctx.Done():
			return nil, fmt.Errorf("socket %s: %w: %w", name, context.Cause(ctx), err)
		case <-time.After(tryEvery):
		}
	}
}

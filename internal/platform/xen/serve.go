package xen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/bench"
)

// xenWithin bounds how long xenstored may take to serve.
const xenWithin = time.Minute

// serve starts, in a control domain, what a host that runs Xen has running:
// the store, the console daemon, and the control domain's own entry in the store.
func serve(ctx context.Context, run bench.Runner) error {
	if kind, err := os.ReadFile("/sys/hypervisor/type"); err != nil || strings.TrimSpace(string(kind)) != "xen" {
		return nil // no hypervisor below this kernel, or not that one: the platform's check says so
	}
	for _, dir := range []string{"/run/xen", "/run/xenstored", "/var/lib/xenstored", "/var/log/xen", "/var/log/xen/console"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("serve Xen: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, xenWithin)
	defer cancel()
	steps := [][]string{
		{"mount", "-t", "xenfs", "xenfs", "/proc/xen"},
		{"xenstored", "--pid-file", "/run/xen/xenstored.pid"},
	}
	for _, s := range steps {
		if err := run(ctx, s[0], s[1:]...); err != nil {
			return fmt.Errorf("serve Xen: %w", err)
		}
	}
	for {
		err := run(ctx, "xenstore-read", "-s", "/")
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("serve Xen: xenstored does not answer: %w", errors.Join(err, context.Cause(ctx)))
		case <-time.After(100 * time.Millisecond):
		}
	}
	// Not among users' programs, and below a directory named by the version.
	entry, err := filepath.Glob("/usr/lib/xen-*/bin/xen-init-dom0")
	if err != nil || len(entry) != 1 {
		return fmt.Errorf("serve Xen: %d programs xen-init-dom0, not one: %w", len(entry), bench.ErrUnavailable)
	}
	for _, s := range [][]string{
		{entry[0]},
		{"xenconsoled", "--pid-file=/run/xen/xenconsoled.pid"},
	} {
		if err := run(ctx, s[0], s[1:]...); err != nil {
			return fmt.Errorf("serve Xen: %w", err)
		}
	}
	return nil
}

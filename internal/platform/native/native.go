// Package native runs instances as plain processes of the host: the golden
// image by a change of root, on the shape's CPUs and within its limits, and
// otherwise with nothing in between. It is what every platform is compared with.
package native

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// Platform implements [bench.Platform].
type Platform struct{}

// New returns the platform.
func New() *Platform { return &Platform{} }

// Name is [bench.Native].
func (*Platform) Name() string { return bench.Native }

// Summary is one line for people.
func (*Platform) Summary() string { return "processes of the host, in the image by chroot" }

// Traits are that it needs nothing.
func (*Platform) Traits() bench.Traits {
	return bench.Traits{Launch: 100 * time.Millisecond, Nesting: &bench.Nesting{Program: "linux"}}
}

// Options are none.
func (*Platform) Options() []bench.Option { return nil }

// Check needs root, cgroups it may write to, and overlayfs.
func (*Platform) Check(ctx context.Context) (bench.Availability, error) {
	if err := ctx.Err(); err != nil {
		return bench.Availability{}, fmt.Errorf("native: %w", err)
	}
	if os.Geteuid() != 0 {
		return bench.Availability{}, fmt.Errorf("native: changing the root needs root: %w%w",
			bench.ErrUnavailable, bench.Hint("run tare as root"))
	}
	release, err := kernelRelease()
	if err != nil {
		return bench.Availability{}, fmt.Errorf("native: %w", err)
	}
	host, err := cgroup.Detect()
	if err != nil {
		return bench.Availability{}, fmt.Errorf("native: %w", err)
	}
	if err := host.Writable(); err != nil {
		return bench.Availability{}, fmt.Errorf("native: %w", err)
	}
	if err := launch.NeedFilesystem("overlay"); err != nil {
		return bench.Availability{}, fmt.Errorf("native: %w", err)
	}
	return bench.Availability{Version: release}, nil
}

func kernelRelease() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("kernel release: %w", err)
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// Open finds the image's tree, which all instances share.
func (*Platform) Open(ctx context.Context, e bench.Env) (bench.Engine, error) {
	root, err := e.Image.Root(ctx)
	if err != nil {
		return nil, fmt.Errorf("open native: image: %w", err)
	}
	host, err := cgroup.Detect()
	if err != nil {
		return nil, fmt.Errorf("open native: %w", err)
	}
	return &engine{env: e, root: root, host: host}, nil
}

type engine struct {
	env  bench.Env
	root string
	host *cgroup.FS
}

// Reads implements [bench.Reading].
func (e *engine) Reads() []string { return []string{e.root} }

// Close has nothing to stop.
func (*engine) Close(context.Context) error { return nil }

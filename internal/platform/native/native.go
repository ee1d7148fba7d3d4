// Package native runs instances as plain processes of the host: the golden
// image by a change of root, on the shape's CPUs and within its limits, and
// otherwise with nothing in between. It is what every platform is compared with.
package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/cgroup"
)

// Platform implements [bench.Platform].
type Platform struct{}

// New returns the platform.
func New() *Platform { return &Platform{} }

// Name is "native".
func (*Platform) Name() string { return "native" }

// Summary is one line for people.
func (*Platform) Summary() string { return "processes of the host, in the image by chroot" }

// Options are none.
func (*Platform) Options() []bench.Option { return nil }

// Check needs root, cgroups it may write to, and overlayfs.
func (*Platform) Check(ctx context.Context) (bench.Availability, error) {
	if err := ctx.Err(); err != nil {
		return bench.Availability{}, fmt.Errorf("check native: %w", err)
	}
	if os.Geteuid() != 0 {
		return bench.Availability{}, fmt.Errorf("check native: changing the root needs root: %w%w",
			bench.ErrUnavailable, bench.Hint("run tare as root"))
	}
	release, err := kernelRelease()
	if err != nil {
		return bench.Availability{}, fmt.Errorf("check native: %w", err)
	}
	host, err := cgroup.Detect()
	if err != nil {
		return bench.Availability{}, fmt.Errorf("check native: %w", err)
	}
	if err := host.Writable(); err != nil {
		return bench.Availability{}, fmt.Errorf("check native: %w", err)
	}
	if err := overlayfs("/", release); err != nil {
		return bench.Availability{}, fmt.Errorf("check native: %w", err)
	}
	return bench.Availability{Version: release, Programs: map[string]string{"linux": release}}, nil
}

func kernelRelease() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("kernel release: %w", err)
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// overlayfs says whether the kernel of the host whose files lie under root has
// overlayfs, built in, loaded or to be loaded at the first mount.
func overlayfs(root, release string) error {
	known, err := os.ReadFile(filepath.Join(root, "proc/filesystems"))
	if err != nil {
		return err
	}
	if slices.Contains(strings.Fields(string(known)), "overlay") {
		return nil
	}
	modules := filepath.Join(root, "lib/modules", release, "modules.dep")
	loadable, err := os.ReadFile(modules)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if strings.Contains(string(loadable), "/overlay.ko") {
		return nil
	}
	return fmt.Errorf("the kernel has no overlayfs: %w%w", bench.ErrUnavailable,
		bench.Hint("install the kernel package that holds the overlay module"))
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

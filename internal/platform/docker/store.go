package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/platform/launch"
)

// drivers are the storage drivers, the default first.
var drivers = []string{"overlay2", "vfs", "btrfs"}

// storeSize is the size of a file system made for a daemon's data, in a sparse file.
const storeSize = 8 * bench.GiB

// store is a file system of a daemon's own at its data root, on a loop device.
type store struct{ device, data string }

// mount is for use inside launch.Apart. The device is set free now, which takes
// effect when the last mount is gone, with the daemon. A nil store mounts nothing.
func (s *store) mount() error {
	if s == nil {
		return nil
	}
	if err := unix.Mount(s.device, s.data, "btrfs", 0, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", s.device, s.data, err)
	}
	return s.free()
}

// free detaches the device, at once or with its last mount.
func (s *store) free() error {
	err := tool.Run(context.Background(), tool.Deadline, exec.Command("losetup", "--detach", s.device))
	if err != nil && !strings.Contains(err.Error(), "No such device") {
		return fmt.Errorf("detach %s: %w", s.device, err)
	}
	return nil
}

// provideStore makes the file system that the storage driver needs unless the
// data root is on one. It is kept between runs, as the data root is.
func (e *engine) provideStore(ctx context.Context, p paths) (*store, error) {
	var on unix.Statfs_t
	if err := unix.Statfs(p.data, &on); err != nil {
		return nil, fmt.Errorf("statfs %s: %w", p.data, err)
	}
	if p.driver != "btrfs" || on.Type == unix.BTRFS_SUPER_MAGIC {
		return nil, nil
	}
	file := p.data + ".img"
	if err := makeBtrfs(ctx, file); err != nil {
		return nil, err
	}
	gone := func(context.Context) error { return nil } // with the daemon, or by what follows
	if err := e.undo.Register(e.env.Ledger, bench.KindLoop, file, gone); err != nil {
		return nil, err
	}
	out, err := tool.Output(ctx, tool.Deadline, exec.Command("losetup", "--find", "--show", "--direct-io=on", file))
	if err != nil {
		return nil, fmt.Errorf("loop device of %s: %w", file, err)
	}
	s := &store{device: strings.TrimSpace(string(out)), data: p.data}
	e.undo.Add(func(context.Context) error {
		if text, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(s.device, "/dev/") + "/loop/backing_file"); err != nil || strings.TrimSpace(string(text)) != file {
			return nil // it is free, or another's by now
		}
		return s.free()
	})
	return s, nil
}

// needBtrfs returns why a store on btrfs cannot be had here.
func (p *Platform) needBtrfs() error {
	if err := launch.NeedFilesystem("btrfs"); err != nil {
		return err
	}
	var on unix.Statfs_t
	if err := unix.Statfs(p.state, &on); err == nil && on.Type == unix.BTRFS_SUPER_MAGIC {
		return nil
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("no loop devices: %w: %w%w", err, bench.ErrUnavailable, bench.Hint("modprobe loop, or keep the state directory on btrfs"))
	}
	for program, pkg := range map[string]string{"mkfs.btrfs": "btrfs-progs", "losetup": "mount"} {
		if _, err := launch.Program(program); err != nil {
			return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("install it, such as: apt-get install "+pkg))
		}
	}
	return nil
}

// makeBtrfs makes the file under another name first, so that it is whole or not there.
func makeBtrfs(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(int64(storeSize)), f.Close()); err != nil {
		return err
	}
	if err := tool.Run(ctx, tool.Deadline, exec.Command("mkfs.btrfs", "--quiet", part)); err != nil {
		return fmt.Errorf("file system in %s: %w", part, err)
	}
	return os.Rename(part, file)
}

// bridges are those of daemons beside the default driver's, which has docker0.
var bridges = map[string]struct {
	name string
	addr net.IPNet
}{
	"vfs":   {"docker-vfs", net.IPNet{IP: net.IPv4(172, 30, 0, 1), Mask: net.CIDRMask(16, 32)}},
	"btrfs": {"docker-btrfs", net.IPNet{IP: net.IPv4(172, 31, 0, 1), Mask: net.CIDRMask(16, 32)}},
}

// provideBridge makes the daemon's bridge in the test network, with which it goes.
func (e *engine) provideBridge(p paths) error {
	b, own := bridges[p.driver]
	if !own {
		return nil
	}
	err := e.env.Testnet.Do(func() error {
		link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: b.name}}
		if err := netlink.LinkAdd(link); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: &b.addr}); err != nil {
			return err
		}
		return netlink.LinkSetUp(link)
	})
	if err != nil {
		return fmt.Errorf("make bridge %s: %w", b.name, err)
	}
	return nil
}

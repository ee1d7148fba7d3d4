package xen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// fileRoot holds what a guest changes of its root.
const fileRoot = "root.cow"

// cowRoom is how much a guest may change of its root. The file is sparse.
const cowRoom = 1 * bench.GiB

// chunk is the snapshot's unit in sectors: a page.
const chunk = "8"

// disks makes the scratch disk and the root's snapshot and plugs them into m.
func (g *engine) disks(ctx context.Context, l bench.Launch, i *instance, m *machine) error {
	if err := vm.Scratch(ctx, l.Dir, vm.Raw, l.Shape.Disk); err != nil {
		return err
	}
	direct := "on"
	if l.Options[optCache] == "writeback" {
		direct = "off"
	}
	scratch := filepath.Join(l.Dir, vm.ScratchFile(vm.Raw))
	changes := filepath.Join(l.Dir, fileRoot)
	i.undo.Add(func(context.Context) error { return removeFiles(scratch, changes) })
	var err error
	if m.scratch, err = g.loop(ctx, &i.undo, scratch, "--direct-io="+direct); err != nil {
		return err
	}
	f, err := os.OpenFile(changes, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(int64(cowRoom)), f.Close()); err != nil {
		return err
	}
	cow, err := g.loop(ctx, &i.undo, changes)
	if err != nil {
		return err
	}
	m.root, err = g.snapshot(ctx, i, "tare-"+l.ID, cow)
	return err
}

// loop makes a block device of the file, with losetup's further arguments.
func (g *engine) loop(ctx context.Context, undo *launch.Undo, file string, args ...string) (device string, err error) {
	free := func(ctx context.Context) error {
		if device == "" {
			return nil
		}
		_, err := launch.Output(ctx, "losetup", "--detach", device)
		return err
	}
	if err := undo.Register(g.env.Ledger, bench.KindLoop, file, free); err != nil {
		return "", err
	}
	out, err := launch.Output(ctx, "losetup", append(args, "--find", "--show", file)...)
	device = strings.TrimSpace(string(out))
	return device, err
}

// snapshot makes a device with the root's content whose changes go to the device
// cow (Documentation/admin-guide/device-mapper/snapshot.rst).
func (g *engine) snapshot(ctx context.Context, i *instance, name, cow string) (string, error) {
	sectors, err := launch.Output(ctx, "blockdev", "--getsz", g.root)
	if err != nil {
		return "", fmt.Errorf("size of the root: %w", err)
	}
	made := false
	remove := func(ctx context.Context) error {
		if !made {
			return nil
		}
		_, err := launch.Output(ctx, "dmsetup", "remove", "--retry", name)
		return err
	}
	if err := i.undo.Register(g.env.Ledger, bench.KindMapped, name, remove); err != nil {
		return "", err
	}
	table := "0 " + strings.TrimSpace(string(sectors)) + " snapshot " + g.root + " " + cow + " N " + chunk
	if _, err := launch.Output(ctx, "dmsetup", "create", name, "--table", table); err != nil {
		return "", fmt.Errorf("snapshot of the root: %w", err)
	}
	made = true
	// Without udev there is no name in /dev/mapper.
	device, err := launch.Output(ctx, "dmsetup", "info", "--columns", "--noheadings", "-o", "blkdevname", name)
	if err != nil {
		return "", fmt.Errorf("snapshot of the root: %w", err)
	}
	return "/dev/" + strings.TrimSpace(string(device)), nil
}

// blockDevice makes a read-only block device of a disk's file, if it is none.
func (g *engine) blockDevice(ctx context.Context, undo *launch.Undo, disk string) (string, error) {
	info, err := os.Stat(disk)
	if err != nil {
		return "", err
	}
	if info.Mode()&os.ModeDevice != 0 {
		return disk, nil
	}
	return g.loop(ctx, undo, disk, "--read-only")
}

// removeFiles removes those that are there.
func removeFiles(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

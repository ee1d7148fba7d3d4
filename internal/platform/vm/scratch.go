package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Programs are what every driver runs that makes a guest's disks and initial file system.
func Programs() []bench.Program {
	return []bench.Program{
		{Name: "mkfs.ext4", Package: "e2fsprogs", Args: []string{"-V"}},
		{Name: "xz", Package: "xz-utils"}, {Name: "zstd", Package: "zstd"},
	}
}

// Formats of a scratch disk's file.
const (
	Raw   = "raw"
	Qcow2 = "qcow2"
)

// ScratchFile is the name of a scratch disk's file in the given format.
func ScratchFile(format string) string { return "scratch." + format }

// NeedFormat says whether the host can make a file in the format.
func NeedFormat(format string) error {
	if format == Raw {
		return nil
	}
	if _, err := launch.Program("qemu-img"); err != nil {
		return fmt.Errorf("format %s: qemu-img is not installed: %w%w", format, bench.ErrUnavailable, bench.Hint("apt-get install qemu-utils"))
	}
	return nil
}

// Scratch makes the scratch disk in dir: an empty ext4 in a sparse file or in
// QEMU's own format. Since every block of it reads as zero, neither inode tables
// nor journal are written out, and the guest's kernel has nothing left to
// initialize in the background (mke2fs(8), -E lazy_journal_init and discard).
func Scratch(ctx context.Context, dir, format string, size bench.Bytes) error {
	if err := scratch(ctx, dir, format, size); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	return nil
}

func scratch(ctx context.Context, dir, format string, size bench.Bytes) error {
	raw := filepath.Join(dir, ScratchFile(Raw))
	if err := emptyDisk(ctx, raw, "scratch", size); err != nil || format == Raw {
		return err
	}
	file := filepath.Join(dir, ScratchFile(format))
	if _, err := launch.Output(ctx, "qemu-img", "convert", "-f", Raw, "-O", format, raw, file); err != nil {
		return err
	}
	return os.Remove(raw)
}

// LayerFile is the name of the file of a layer's disk.
const LayerFile = "layer.raw"

// layerSize is the room for what is written to the root. Only what is takes any.
const layerSize = 4 * bench.GiB

// Layer makes the disk of a layer over a root that is shared and read-only, for
// monitors that cannot keep a guest's writes apart themselves.
func Layer(ctx context.Context, dir string) error {
	if err := emptyDisk(ctx, filepath.Join(dir, LayerFile), "layer", layerSize); err != nil {
		return fmt.Errorf("layer's disk: %w", err)
	}
	return nil
}

// DiskFile is the name of an instance's copy of a disk of the user's own.
const DiskFile = "disk.raw"

// Disk copies a disk of the user's own into dir, for monitors that write to the file they are given.
// Zeros are holes in the copy.
func Disk(ctx context.Context, dir, from string) error {
	if _, err := launch.Output(ctx, "cp", "--sparse=always", "--reflink=never", from, filepath.Join(dir, DiskFile)); err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	return nil
}

// emptyDisk makes an empty ext4 in a sparse file.
func emptyDisk(ctx context.Context, raw, label string, size bench.Bytes) error {
	f, err := os.OpenFile(raw, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(int64(size)), f.Close()); err != nil {
		return err
	}
	_, err = launch.Output(ctx, "mkfs.ext4", "-q", "-F", "-L", label, "-E", "lazy_journal_init=1", raw)
	return err
}

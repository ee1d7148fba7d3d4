package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Disk is a whole block device, which is what the kernel can hold a group to;
// the zero Disk is none.
type Disk struct {
	Number string // "254:0"
	Path   string // "/dev/vda"
}

// DiskOf finds the disk under a directory for an instance of the shape, none if the
// shape does not limit it. File systems without one disk (tmpfs, overlay,
// btrfs, a network's) have none either, which is no error.
func DiskOf(s bench.Shape, path string) (Disk, error) {
	if s.DiskIOPS == 0 {
		return Disk{}, nil
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Disk{}, fmt.Errorf("find the disk under %s: %w", path, err)
	}
	return diskOf("/", fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
}

// diskOf reads sysfs under root, where a partition lies in its disk's directory.
func diskOf(root, number string) (Disk, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(root, "sys/dev/block", number))
	if errors.Is(err, fs.ErrNotExist) {
		return Disk{}, nil
	}
	if err != nil {
		return Disk{}, fmt.Errorf("find disk %s: %w", number, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "dev"))
	if err != nil {
		return Disk{}, fmt.Errorf("find disk %s: %w", number, err)
	}
	return Disk{Number: strings.TrimSpace(string(text)), Path: "/dev/" + filepath.Base(dir)}, nil
}

// A Control is a control file of a group with the value that is written to it.
type Control struct{ File, Value string }

// Rates are the controls that hold reads and writes to so many per second each.
func (d Disk) Rates(iops int, v2 bool) []Control {
	if v2 {
		return []Control{{"io.max", fmt.Sprintf("%s riops=%d wiops=%d", d.Number, iops, iops)}}
	}
	value := fmt.Sprintf("%s %d", d.Number, iops)
	return []Control{{"blkio.throttle.read_iops_device", value}, {"blkio.throttle.write_iops_device", value}}
}

// knob limits reads and writes on the disk; without one nothing can be enforced.
func (d Disk) knob(iops int) knob {
	k := knob{what: DiskRate}
	if d == (Disk{}) {
		return k
	}
	k.controller = "blkio"
	for _, c := range d.Rates(iops, false) {
		k.v1 = append(k.v1, setting{c.File, c.Value})
	}
	for _, c := range d.Rates(iops, true) {
		k.v2 = append(k.v2, setting{c.File, c.Value})
	}
	return k
}

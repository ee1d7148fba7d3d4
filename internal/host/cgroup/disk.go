package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Disk is a whole block device. The kernel can limit a group only on whole devices. The zero Disk
// means none.
type Disk struct {
	Number string // "254:0"
	Path   string // "/dev/vda"
	// Weighs: its I/O scheduler supports weights.
	Weighs bool
}

// DiskOf returns the disk under a directory for an instance of the shape, none if the shape does
// not limit the disk. File systems without a single disk (tmpfs, overlay, btrfs, network file
// systems) also give none and no error.
func DiskOf(s bench.Shape, path string) (Disk, error) {
	if s.DiskIOPS == 0 && s.DiskBandwidth == 0 && s.DiskWeight == 0 {
		return Disk{}, nil
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Disk{}, fmt.Errorf("find the disk under %s: %w", path, err)
	}
	return diskOf("/", fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
}

// diskOf reads sysfs under root. There, a partition's directory is inside its disk's.
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
	d := Disk{Number: strings.TrimSpace(string(text)), Path: "/dev/" + filepath.Base(dir)}
	// The active scheduler is in brackets. A disk without a queue has no such file.
	if text, err := os.ReadFile(filepath.Join(dir, "queue/scheduler")); err == nil {
		d.Weighs = strings.Contains(string(text), "[bfq]")
	}
	return d, nil
}

// DiskLimits returns the names of the shape's disk limits, for drivers that can enforce none.
func DiskLimits(s bench.Shape) []string {
	names := Throttles(s)
	if s.DiskWeight > 0 {
		names = append(names, diskWeight)
	}
	return names
}

// Throttles returns the names of the disk limits that v1 applies to one group only, not to its
// descendants (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
func Throttles(s bench.Shape) []string {
	var names []string
	if s.DiskIOPS > 0 {
		names = append(names, DiskRate)
	}
	if s.DiskBandwidth > 0 {
		names = append(names, DiskBandwidth)
	}
	return names
}

// A Control is a control file of a group and the value to write.
type Control struct{ File, Value string }

// Throttle returns the controls of the shape's [Throttles].
func (d Disk) Throttle(s bench.Shape, v2 bool) []Control {
	var list []Control
	if s.DiskIOPS > 0 {
		list = append(list, d.Rates(s.DiskIOPS, v2)...)
	}
	if s.DiskBandwidth > 0 {
		list = append(list, d.bandwidth(s.DiskBandwidth, v2)...)
	}
	return list
}

// Rates returns the controls that limit reads and writes per second.
func (d Disk) Rates(iops int, v2 bool) []Control {
	if v2 {
		return []Control{{"io.max", fmt.Sprintf("%s riops=%d wiops=%d", d.Number, iops, iops)}}
	}
	value := fmt.Sprintf("%s %d", d.Number, iops)
	return []Control{{"blkio.throttle.read_iops_device", value}, {"blkio.throttle.write_iops_device", value}}
}

// bandwidth returns the controls that limit bytes read and written per second.
func (d Disk) bandwidth(b bench.Bytes, v2 bool) []Control {
	if v2 {
		return []Control{{"io.max", fmt.Sprintf("%s rbps=%d wbps=%d", d.Number, b, b)}}
	}
	value := fmt.Sprintf("%s %d", d.Number, b)
	return []Control{{"blkio.throttle.read_bps_device", value}, {"blkio.throttle.write_bps_device", value}}
}

// weight returns BFQ's weight (Documentation/block/bfq-iosched.rst). With another scheduler its
// files may exist without effect.
func (d Disk) weight(weight int) knob {
	if !d.Weighs {
		return knob{what: diskWeight}
	}
	value := strconv.Itoa(weight)
	return d.knob(diskWeight, []Control{{"blkio.bfq.weight", value}}, []Control{{"io.bfq.weight", value}})
}

// knob returns a limit with the given controls, or without controls if there is no disk.
func (d Disk) knob(what string, v1, v2 []Control) knob {
	k := knob{what: what}
	if d == (Disk{}) {
		return k
	}
	k.controller = "blkio"
	for _, c := range v1 {
		k.v1 = append(k.v1, setting{c.File, c.Value})
	}
	for _, c := range v2 {
		k.v2 = append(k.v2, setting{c.File, c.Value})
	}
	return k
}

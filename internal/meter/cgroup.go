package meter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Cgroup reads what the kernel charges to an instance's control groups: CPU time, memory, block
// I/O. On v1 each controller has its own directory (Documentation/admin-guide/cgroup-v1). On v2
// there is one ("unified", Documentation/admin-guide/cgroup-v2.rst).
type Cgroup struct {
	sources []source
}

// source is one file of a control group and how it fills the columns.
type source struct {
	file  *proc.File
	parse func(b []byte, v []float64) error
}

var cgroupColumns = []string{
	bench.ColCPUBusy, bench.ColCPUUser, bench.ColCPUSystem,
	bench.ColMemUsed, bench.ColMemCache, bench.ColMemShared,
	bench.ColDiskRead, bench.ColDiskWrite, bench.ColDiskReadOps, bench.ColDiskWriteOps,
}

// The places of the columns.
const (
	cgBusy = iota
	cgUser
	cgSystem
	cgMem
	cgCache
	cgShared
	cgRead
	cgWrite
	cgReadOps
	cgWriteOps
)

// OpenCgroup opens the accounting files in dirs, keyed as in [bench.Scope]. The columns of a
// missing file stay missing. It returns an error if no file exists.
func OpenCgroup(dirs map[string]string) (*Cgroup, error) {
	c := &Cgroup{}
	add := func(dir, name string, parse func([]byte, []float64) error) bool {
		if dir == "" {
			return false
		}
		f, err := proc.Open(filepath.Join(dir, name))
		if err != nil {
			return false
		}
		c.sources = append(c.sources, source{f, parse})
		return true
	}
	if !add(dirs["cpuacct"], "cpuacct.usage", parseUsageV1) {
		add(dirs["unified"], "cpu.stat", parseCPUStat)
	} else {
		add(dirs["cpuacct"], "cpuacct.stat", parseCPUAcctStat)
	}
	if !add(dirs["memory"], "memory.stat", parseMemoryV1) {
		add(dirs["unified"], "memory.stat", parseMemoryV2)
	}
	if countsBlkio(dirs["blkio"]) && add(dirs["blkio"], blkioBytes, parseBlkio(cgRead, cgWrite)) {
		add(dirs["blkio"], "blkio.throttle.io_serviced_recursive", parseBlkio(cgReadOps, cgWriteOps))
	} else {
		add(dirs["unified"], "io.stat", parseIOStat)
	}
	if len(c.sources) == 0 {
		return nil, fmt.Errorf("open cgroup meter: no accounting file in %v", dirs)
	}
	return c, nil
}

const blkioBytes = "blkio.throttle.io_service_bytes_recursive"

// countsBlkio reports whether the kernel counts the traffic of v1's groups. Some kernels, such as
// 6.18, set up throttling with the first limit and count nothing before, even in the root group,
// which always has I/O. A group's empty file then does not mean that it did no I/O.
func countsBlkio(dir string) bool {
	if dir == "" {
		return false
	}
	top := dir
	for {
		up := filepath.Dir(top)
		if _, err := os.Stat(filepath.Join(up, blkioBytes)); err != nil || up == top {
			break
		}
		top = up
	}
	b, err := os.ReadFile(filepath.Join(top, blkioBytes))
	return err == nil && bytes.Contains(b, []byte(" Read "))
}

func (c *Cgroup) Meter() string      { return "cgroup" }
func (c *Cgroup) Level() bench.Level { return bench.Layer }
func (c *Cgroup) Columns() []string  { return cgroupColumns }

// Read fills values. The columns of a source that fails are missing, and the error names the
// source.
func (c *Cgroup) Read(v []float64) error {
	missing(v)
	var errs []error
	for _, s := range c.sources {
		b, err := s.file.Read()
		if err == nil {
			err = s.parse(b, v)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close closes the files.
func (c *Cgroup) Close() error {
	for _, s := range c.sources {
		s.file.Close()
	}
	return nil
}

func parseUsageV1(b []byte, v []float64) error {
	n, ok := proc.Single(b)
	if !ok {
		return fmt.Errorf("cpuacct.usage: %q is not a number", b)
	}
	v[cgBusy] = n / 1e9
	return nil
}

// keyed fills columns with scaled values of a flat keyed file. Every key must exist.
func keyed(file string, b []byte, v []float64, scale float64, columns map[string]int) error {
	for key, i := range columns {
		n, ok := proc.Keyed(b, key)
		if !ok {
			return fmt.Errorf("%s: no number under %q in %q", file, key, b)
		}
		v[i] = n * scale
	}
	return nil
}

var (
	cpuAcctKeys  = map[string]int{"user": cgUser, "system": cgSystem}
	cpuStatKeys  = map[string]int{"usage_usec": cgBusy, "user_usec": cgUser, "system_usec": cgSystem}
	memoryV1Keys = map[string]int{"total_rss": cgMem, "total_cache": cgCache}
	memoryV2Keys = map[string]int{"anon": cgMem, "file": cgCache}
)

func parseCPUAcctStat(b []byte, v []float64) error {
	return keyed("cpuacct.stat", b, v, 1.0/proc.TicksPerSecond, cpuAcctKeys)
}

func parseCPUStat(b []byte, v []float64) error { return keyed("cpu.stat", b, v, 1e-6, cpuStatKeys) }

func parseMemoryV1(b []byte, v []float64) error {
	shared(b, v, "total_shmem")
	return keyed("memory.stat", b, v, 1, memoryV1Keys)
}

func parseMemoryV2(b []byte, v []float64) error {
	shared(b, v, "shmem")
	return keyed("memory.stat", b, v, 1, memoryV2Keys)
}

// shared fills the column of shared memory. Kernels before 4.18 have no key for it on v1.
func shared(b []byte, v []float64, key string) {
	if n, ok := proc.Keyed(b, key); ok {
		v[cgShared] = n
	}
}

// parseBlkio sums "MAJOR:MINOR Read N" and "... Write N" over devices. An empty file means that the
// group has done no I/O yet.
func parseBlkio(read, write int) func([]byte, []float64) error {
	return func(b []byte, v []float64) error {
		v[read], v[write] = 0, 0
		for line := range bytes.Lines(b) {
			f := bytes.Fields(line)
			if len(f) != 3 {
				continue // "Total N" over all devices
			}
			n, ok := proc.Single(f[2])
			if !ok {
				return fmt.Errorf("blkio: %q is not a number", f[2])
			}
			switch string(f[1]) {
			case "Read":
				v[read] += n
			case "Write":
				v[write] += n
			}
		}
		return nil
	}
}

// parseIOStat sums "MAJOR:MINOR rbytes=N wbytes=N rios=N wios=N ..." over devices.
func parseIOStat(b []byte, v []float64) error {
	v[cgRead], v[cgWrite], v[cgReadOps], v[cgWriteOps] = 0, 0, 0, 0
	for line := range bytes.Lines(b) {
		for _, f := range bytes.Fields(line) {
			key, val, ok := bytes.Cut(f, []byte("="))
			if !ok {
				continue
			}
			var i int
			switch string(key) {
			case "rbytes":
				i = cgRead
			case "wbytes":
				i = cgWrite
			case "rios":
				i = cgReadOps
			case "wios":
				i = cgWriteOps
			default:
				continue
			}
			n, ok := proc.Single(val)
			if !ok {
				return fmt.Errorf("io.stat: %q is not a number", f)
			}
			v[i] += n
		}
	}
	return nil
}

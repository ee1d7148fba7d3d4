package proc

import (
	"bytes"
	"fmt"
)

// CPU is the time since boot in each mode, in seconds summed over all online CPUs. Guest time is
// contained in User, GuestNice in Nice.
type CPU struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal, Guest, GuestNice float64
	CPUs                                                                    int // online
}

// Busy returns all time that is not idle, I/O wait or steal, plus a constant. A difference of two
// is CPU seconds. uptime is CLOCK_BOOTTIME in seconds when the file was read. Busy is computed from
// idle time, which is measured. Most kernels sample the other modes: they charge a whole tick to
// the task that runs at the tick and miss work between ticks (here, 0.09 of 0.30 s of ping-pong
// messages).
func (c CPU) Busy(uptime float64) float64 {
	return uptime*float64(c.CPUs) - c.Idle - c.IOWait - c.Steal
}

// ParseStat reads the first line of /proc/stat and counts the CPUs after it.
func ParseStat(b []byte) (CPU, error) {
	line, rest := nextLine(b)
	fields, ok := bytes.CutPrefix(line, []byte("cpu "))
	if !ok {
		return CPU{}, fmt.Errorf("proc stat: %q does not begin with cpu", line)
	}
	var n [10]uint64
	got, err := numbers(fields, n[:])
	if err != nil {
		return CPU{}, fmt.Errorf("proc stat: %w", err)
	}
	if got < 8 {
		return CPU{}, fmt.Errorf("proc stat: %q has %d of at least 8 fields", line, got)
	}
	s := func(i int) float64 { return float64(n[i]) / TicksPerSecond }
	cpus := 0
	for ; bytes.HasPrefix(rest, []byte("cpu")); cpus++ {
		_, rest = nextLine(rest)
	}
	return CPU{s(0), s(1), s(2), s(3), s(4), s(5), s(6), s(7), s(8), s(9), cpus}, nil
}

// Memory is a summary of /proc/meminfo in bytes.
type Memory struct {
	Total, Free, Available, Buffers, Cached, Reclaimable, Shmem, SwapTotal, SwapFree float64
}

// Used returns the memory that is not available to a new program without swapping.
func (m Memory) Used() float64 { return m.Total - m.Available }

// Cache returns the memory that holds file contents and reclaimable kernel objects.
func (m Memory) Cache() float64 { return m.Buffers + m.Cached + m.Reclaimable - m.Shmem }

// ParseMeminfo reads /proc/meminfo.
func ParseMeminfo(b []byte) (Memory, error) {
	var m Memory
	seen := 0
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			continue
		}
		var dst *float64
		switch string(line[:i]) {
		case "MemTotal":
			dst = &m.Total
		case "MemFree":
			dst = &m.Free
		case "MemAvailable":
			dst = &m.Available
		case "Buffers":
			dst = &m.Buffers
		case "Cached":
			dst = &m.Cached
		case "SReclaimable":
			dst = &m.Reclaimable
		case "Shmem":
			dst = &m.Shmem
		case "SwapTotal":
			dst = &m.SwapTotal
		case "SwapFree":
			dst = &m.SwapFree
		default:
			continue
		}
		f, _ := nextField(line[i+1:])
		n, ok := number(f)
		if !ok {
			return m, fmt.Errorf("proc meminfo: %q: %q is not a number", line, f)
		}
		*dst = float64(n) * 1024
		seen++
	}
	if seen < 9 {
		return m, fmt.Errorf("proc meminfo: %d of 9 lines found", seen)
	}
	return m, nil
}

// Pressure is the time some task waited for a resource since boot, in seconds
// (Documentation/accounting/psi.rst).
func ParsePressure(b []byte) (some float64, err error) {
	line, _ := nextLine(b)
	if !bytes.HasPrefix(line, []byte("some ")) {
		return 0, fmt.Errorf("proc pressure: %q does not begin with some", line)
	}
	i := bytes.Index(line, []byte("total="))
	if i < 0 {
		return 0, fmt.Errorf("proc pressure: %q has no total", line)
	}
	n, ok := number(line[i+len("total="):])
	if !ok {
		return 0, fmt.Errorf("proc pressure: %q is not a number", line[i:])
	}
	return float64(n) / 1e6, nil
}

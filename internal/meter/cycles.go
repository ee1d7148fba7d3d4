package meter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/host/clock"
)

// Cycles reads at which frequency CPUs ran while they were at work: APERF counts cycles, MPERF
// cycles of the time-stamp counter, both only while a CPU is not idle (Intel SDM volume 3B, section
// 15.2; AMD64 APM volume 2, section 17.5). What an idle CPU's frequency is told to be says nothing.
type Cycles struct {
	cpus []cycles
	last []count
	at   int64
}

// cycles reads a CPU's three counters: TSC, APERF, MPERF.
type cycles interface {
	read() (count, error)
	close() error
}

type count [3]uint64

// The model-specific registers, in the order of a count, and perf's names of them.
var (
	cycleRegisters = [...]int64{0x10, 0xe8, 0xe7}
	cycleEvents    = [...]string{"tsc", "aperf", "mperf"}
)

// OpenCycles opens the counters of CPUs: by perf, else by /dev/cpu, on the trees mounted there. It
// returns an error where neither has them, as in most virtual machines, or in a kernel for which
// msr is a module that is not loaded.
func OpenCycles(sysDir, devDir string, cpus []int) (*Cycles, error) {
	c := &Cycles{}
	for _, cpu := range cpus {
		var one cycles
		one, err := openPerf(sysDir, cpu)
		if err != nil {
			var other error
			if one, other = openRegisters(devDir, cpu); other != nil {
				c.Close()
				return nil, fmt.Errorf("count the cycles of CPU %d: %w", cpu, errors.Join(err, other))
			}
		}
		c.cpus = append(c.cpus, one)
	}
	return c, nil
}

// Begin begins the stretch that Frequency is of.
func (c *Cycles) Begin() error {
	var err error
	c.at = clock.Now()
	c.last, err = c.read()
	return err
}

// Frequency is the mean over the CPUs since Begin, each weighted by its time at work, in Hz. It is
// an error if they were not at work, or their counters do not count.
func (c *Cycles) Frequency() (float64, error) {
	now, err := c.read()
	if err != nil {
		return 0, err
	}
	if len(c.last) != len(now) {
		return 0, errors.New("count cycles: not begun")
	}
	return frequency(c.last, now, float64(clock.Now()-c.at)/1e9)
}

func (c *Cycles) read() ([]count, error) {
	all := make([]count, len(c.cpus))
	for i, cpu := range c.cpus {
		var err error
		if all[i], err = cpu.read(); err != nil {
			return nil, fmt.Errorf("count cycles: %w", err)
		}
	}
	return all, nil
}

// frequency is the mean, in Hz, between two readings so many seconds apart.
func frequency(from, to []count, seconds float64) (float64, error) {
	var sum [3]float64
	for i := range to {
		for k := range sum {
			if to[i][k] < from[i][k] {
				return 0, fmt.Errorf("count cycles: %s fell", cycleEvents[k])
			}
			sum[k] += float64(to[i][k] - from[i][k])
		}
	}
	if sum[0] == 0 || sum[1] == 0 || sum[2] == 0 || seconds <= 0 {
		return 0, errors.New("count cycles: the counters do not count")
	}
	return sum[1] / sum[2] * sum[0] / float64(len(to)) / seconds, nil
}

// Close closes the counters.
func (c *Cycles) Close() error {
	var errs []error
	for _, cpu := range c.cpus {
		errs = append(errs, cpu.close())
	}
	return errors.Join(errs...)
}

// registers are a CPU's, by /dev/cpu/N/msr (msr(4)).
type registers struct{ file *os.File }

func openRegisters(devDir string, cpu int) (cycles, error) {
	f, err := os.Open(filepath.Join(devDir, "cpu", strconv.Itoa(cpu), "msr"))
	if err != nil {
		return nil, err
	}
	r := registers{f}
	if _, err := r.read(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r registers) read() (c count, err error) {
	for i, at := range cycleRegisters {
		var b [8]byte
		if _, err := r.file.ReadAt(b[:], at); err != nil {
			return c, err
		}
		c[i] = binary.NativeEndian.Uint64(b[:])
	}
	return c, nil
}

func (r registers) close() error { return r.file.Close() }

// perf counts by the kernel's events of those registers (perf_event_open(2)).
type perf struct{ fds [len(cycleEvents)]int }

func openPerf(sysDir string, cpu int) (cycles, error) {
	dir := filepath.Join(sysDir, "bus/event_source/devices/msr")
	kind, err := os.ReadFile(filepath.Join(dir, "type"))
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(strings.TrimSpace(string(kind)), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	p := &perf{fds: [len(cycleEvents)]int{-1, -1, -1}}
	for i, name := range cycleEvents {
		config, err := event(filepath.Join(dir, "events", name))
		if err == nil {
			attr := &unix.PerfEventAttr{Type: uint32(number), Config: config}
			attr.Size = unix.PERF_ATTR_SIZE_VER0
			p.fds[i], err = unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		}
		if err != nil {
			p.close()
			return nil, fmt.Errorf("event %s of msr: %w", name, err)
		}
	}
	return p, nil
}

// event reads an event's number: "event=0x01".
func event(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	digits, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "event=")
	if !ok {
		return 0, fmt.Errorf("%s: %q is no event", file, text)
	}
	return strconv.ParseUint(digits, 0, 64)
}

func (p *perf) read() (c count, err error) {
	for i, fd := range p.fds {
		var b [8]byte
		n, err := unix.Read(fd, b[:])
		if err != nil {
			return c, fmt.Errorf("event %s of msr: %w", cycleEvents[i], err)
		}
		if n != len(b) {
			return c, fmt.Errorf("event %s of msr: %d bytes", cycleEvents[i], n)
		}
		c[i] = binary.NativeEndian.Uint64(b[:])
	}
	return c, nil
}

func (p *perf) close() error {
	var errs []error
	for _, fd := range p.fds {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

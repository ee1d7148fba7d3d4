// Package proc reads the kernel's text files that a sampler reads every second. It is cheap: a file
// is opened once and read again from its start, and parsing does not allocate. The source is the
// kernel's Documentation/filesystems/proc.rst unless another is named.
package proc

import (
	"bytes"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// TicksPerSecond is USER_HZ, the unit of the times in /proc/stat and /proc/PID/stat. It is part of
// Linux's ABI and 100 on every architecture that Tare supports. It does not depend on the kernel's
// own tick rate.
const TicksPerSecond = 100

// File is a kernel file kept open and read again from its start.
type File struct {
	f   *os.File
	buf []byte
}

// Open opens path for repeated reading.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &File{f: f, buf: make([]byte, 4096)}, nil
}

// Read returns the current content. The slice is valid until the next call.
func (f *File) Read() ([]byte, error) {
	n := 0
	for {
		m, err := f.f.ReadAt(f.buf[n:], int64(n))
		n += m
		if err != nil {
			if n > 0 || err.Error() == "EOF" {
				return f.buf[:n], nil
			}
			return nil, fmt.Errorf("read %s: %w", f.f.Name(), err)
		}
		if n == len(f.buf) {
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Uptime returns CLOCK_BOOTTIME in seconds, the clock of the kernel's idle times.
func Uptime() float64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return math.NaN()
	}
	return float64(ts.Nano()) / 1e9
}

// nextLine splits off the first line of b.
func nextLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// nextField splits off the first field of b, skipping the blanks before it.
func nextField(b []byte) (field, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' {
		j++
	}
	return b[i:j], b[j:]
}

// number reads an unsigned decimal. ok is false for anything else, including overflow.
func number(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		m := n*10 + uint64(c-'0')
		if n > (1<<64-1)/10 || m < n*10 {
			return 0, false
		}
		n = m
	}
	return n, true
}

// numbers fills dst with the fields of b and reports how many there were, at most len(dst).
func numbers(b []byte, dst []uint64) (int, error) {
	for i := range dst {
		var f []byte
		if f, b = nextField(b); len(f) == 0 {
			return i, nil
		}
		n, ok := number(f)
		if !ok {
			return i, fmt.Errorf("%q is not a number", f)
		}
		dst[i] = n
	}
	return len(dst), nil
}

package meter

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// counters writes /dev/cpu/N/msr of CPUs as files with holes.
func counters(t *testing.T, dir string, all []count) {
	t.Helper()
	for cpu, c := range all {
		path := filepath.Join(dir, "cpu", string(rune('0'+cpu)), "msr")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		// The registers overlap in a file, as they do not in a CPU: the highest is written last.
		for _, i := range []int{0, 2, 1} {
			b := binary.NativeEndian.AppendUint64(nil, c[i])
			if _, err := f.WriteAt(b[:min(8, gap(i))], cycleRegisters[i]); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
}

// gap is how many bytes lie between a register and the next that is read.
func gap(i int) int {
	if i == 2 { // MPERF, one below APERF
		return 1
	}
	return 8
}

func TestCyclesByRegisters(t *testing.T) {
	dev := t.TempDir()
	counters(t, dev, []count{{1000, 0x55, 0x07}, {2000, 0x66, 0x08}})
	c, err := OpenCycles(t.TempDir(), dev, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.read()
	if err != nil || got[0][0] != 1000 || got[1][0] != 2000 || got[0][1] != 0x55 || got[1][1] != 0x66 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Frequency(); err == nil {
		t.Error("a frequency before Begin")
	}
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	if f, err := c.Frequency(); err == nil {
		t.Errorf("%g Hz of counters that stand still", f)
	}
}

func TestFrequency(t *testing.T) {
	for name, c := range map[string]struct {
		from, to []count
		want     float64 // 0: an error
	}{
		"at the time-stamp counter's":         {[]count{{0, 0, 0}}, []count{{4e9, 1e9, 1e9}}, 2e9},
		"faster, mostly idle":                 {[]count{{0, 5, 5}}, []count{{4e9, 3e6 + 5, 2e6 + 5}}, 3e9},
		"one of two at work, at half of that": {[]count{{0, 0, 0}, {0, 0, 0}}, []count{{4e9, 1e9, 2e9}, {4e9, 1, 2}}, 1e9},
		"both":                                {[]count{{0, 0, 0}, {0, 0, 0}}, []count{{4e9, 1e9, 1e9}, {4e9, 3e9, 1e9}}, 4e9},
		"idle":                                {[]count{{0, 7, 7}}, []count{{4e9, 7, 7}}, 0},
		"reset":                               {[]count{{0, 7, 7}}, []count{{4e9, 1, 9}}, 0},
	} {
		got, err := frequency(c.from, c.to, 2)
		if (err != nil) != (c.want == 0) || math.Abs(got-c.want) > 1e-3*c.want {
			t.Errorf("%s: %g Hz, %v, want %g", name, got, err, c.want)
		}
	}
}

// Where neither has the counters both are named.
func TestCyclesThatCannotBeCounted(t *testing.T) {
	_, err := OpenCycles(t.TempDir(), t.TempDir(), []int{0})
	if err == nil || !strings.Contains(err.Error(), "devices/msr/type") || !strings.Contains(err.Error(), "cpu/0/msr") {
		t.Errorf("%v", err)
	}
	sys := t.TempDir()
	events := filepath.Join(sys, "bus/event_source/devices/msr/events")
	if err := os.MkdirAll(events, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"../type": "9\n", "tsc": "event=0x00\n", "aperf": "none\n"} {
		if err := os.WriteFile(filepath.Join(events, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenCycles(sys, t.TempDir(), []int{0}); err == nil {
		t.Error("opened events that are none")
	}
}

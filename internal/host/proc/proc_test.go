package proc

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const statText = "cpu  20823 7 5080 315347 585 3 111 8 2 1\ncpu0 5309 0 1735 163840 53 0 19 1 0 0\n"

func TestParseStat(t *testing.T) {
	c, err := ParseStat([]byte(statText))
	if err != nil {
		t.Fatal(err)
	}
	want := CPU{208.23, .07, 50.80, 3153.47, 5.85, .03, 1.11, .08, .02, .01, 1}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if got := c.Busy(3600); got < 440.59 || got > 440.61 {
		t.Errorf("busy %v of an hour, want 440.60", got)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  1 2 3\n", "cpu  1 2 x 4 5 6 7 8\n", "cpu  1 2 -3 4 5 6 7 8\n"} {
		if _, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestEachDisk(t *testing.T) {
	const text = " 254       0 vda 100 1 2000 9 200 2 4000 9 0 99 18 0 0 0 0 0 0\n   7       0 loop0 1 0 2 0 0 0 0 0 0 0 0\n"
	got := map[string]Disk{}
	if err := EachDisk([]byte(text), func(name []byte, d Disk) { got[string(name)] = d }); err != nil {
		t.Fatal(err)
	}
	if want := (Disk{100, 2000 * 512, 200, 4000 * 512}); got["vda"] != want {
		t.Errorf("vda %+v, want %+v", got["vda"], want)
	}
	if len(got) != 2 {
		t.Errorf("%d devices, want 2", len(got))
	}
	if EachDisk([]byte("8 0 sda 1 2"), func([]byte, Disk) {}) == nil {
		t.Error("a short line was accepted")
	}
}

func TestEachNet(t *testing.T) {
	const text = "Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0\nveth1a:10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n"
	got := map[string]Net{}
	if err := EachNet([]byte(text), func(name []byte, n Net) { got[string(name)] = n }); err != nil {
		t.Fatal(err)
	}
	if want := (Net{10, 1, 20, 2}); got["veth1a"] != want {
		t.Errorf("veth1a %+v, want %+v", got["veth1a"], want)
	}
	if EachNet([]byte("a\nb\nno colon here\n"), func([]byte, Net) {}) == nil {
		t.Error("a line without a colon was accepted")
	}
}

func TestKeyed(t *testing.T) {
	const text = "usage_usec 123\nuser_usec 100\nbad x\n"
	if n, ok := Keyed([]byte(text), "user_usec"); !ok || n != 100 {
		t.Errorf("user_usec = %v, %v", n, ok)
	}
	for _, key := range []string{"user", "bad", "absent"} {
		if n, ok := Keyed([]byte(text), key); ok {
			t.Errorf("%s = %v, want none", key, n)
		}
	}
}

func TestParseSched(t *testing.T) {
	got, err := ParseSched([]byte("276852 17 3\n"))
	if want := (Sched{276852, 17, 3}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1 2\n", "1 2 x\n", "1 -2 3\n"} {
		if _, err := ParseSched([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseTask(t *testing.T) {
	const line = "4711 (CPU 0/KVM (x) y) S 1 2 3 0 -1 %s 5 6 7 8 9 10 11 12 20 0 3 0 %s 1234 5\n"
	for _, c := range []struct {
		flags   string
		exiting bool
	}{{"4194304", false}, {"4194308", true}} {
		got, err := ParseTask([]byte(fmt.Sprintf(line, c.flags, "987")))
		if err != nil || string(got.Name) != "CPU 0/KVM (x) y" || got.Exiting != c.exiting || got.Start != 987 {
			t.Errorf("flags %s: %q %+v, %v", c.flags, got.Name, got, err)
		}
	}
	for _, bad := range []string{"", "1 (a", "1 (a) S 1 2", fmt.Sprintf(line, "x", "1"), fmt.Sprintf(line, "1", "-1")} {
		if _, err := ParseTask([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseProcess(t *testing.T) {
	const line = "4711 (cc1 (x) y) S 17 2 3 0 -1 %s 5 6 7 8 9 10 11 12 20 0 3 0 987 1234 5\n"
	for _, c := range []struct {
		flags  string
		kernel bool
	}{{"4194304", false}, {"2129984", true}} {
		got, err := ParseProcess([]byte(fmt.Sprintf(line, c.flags)))
		if err != nil || string(got.Name) != "cc1 (x) y" || got.Parent != 17 || got.Kernel != c.kernel || got.Start != 987 || got.Own != 19 || got.Children != 23 {
			t.Errorf("flags %s: %q %+v, %v", c.flags, got.Name, got, err)
		}
	}
	for _, bad := range []string{"", "1 (a", "1 (a) S 1 2", fmt.Sprintf(line, "x")} {
		if _, err := ParseProcess([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParsePressure(t *testing.T) {
	got, err := ParsePressure([]byte("some avg10=0.13 avg60=1.23 avg300=0.65 total=11636026\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	if err != nil || got != 11.636026 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ParsePressure([]byte("full total=1\n")); err == nil {
		t.Error("a file without some was accepted")
	}
}

// A file is read again from its start and may have grown past the buffer.
func TestFileReadsAgain(t *testing.T) {
	path := t.TempDir() + "/f"
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := f.Read(); err != nil || string(b) != "one" {
		t.Fatalf("got %q, %v", b, err)
	}
	long := strings.Repeat("x", 10000)
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := f.Read(); err != nil || string(b) != long {
		t.Fatalf("got %d bytes, %v", len(b), err)
	}
}

// The machine's own files parse.
func TestRealFiles(t *testing.T) {
	for path, parse := range map[string]func([]byte) error{
		"/proc/stat":      func(b []byte) error { _, err := ParseStat(b); return err },
		"/proc/meminfo":   func(b []byte) error { _, err := ParseMeminfo(b); return err },
		"/proc/diskstats": func(b []byte) error { return EachDisk(b, func([]byte, Disk) {}) },
		"/proc/net/dev":   func(b []byte) error { return EachNet(b, func([]byte, Net) {}) },
	} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if err := parse(b); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte(statText))
	f.Add([]byte("some avg10=0.13 total=5"))
	f.Add([]byte("a\nb\nlo: 1 2 3 4 5 6 7 8 9 10"))
	f.Add([]byte("8 0 sda 1 2 3 4 5 6 7"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseStat(b); err == nil && c.User < 0 {
			t.Errorf("negative time from %q", b)
		}
		ParseMeminfo(b)
		ParsePressure(b)
		ParseSchedstat(b)
		ParseSched(b)
		ParseTask(b)
		ParseProcess(b)
		EachDisk(b, func([]byte, Disk) {})
		EachNet(b, func([]byte, Net) {})
		Keyed(b, "x")
		Single(b)
	})
}

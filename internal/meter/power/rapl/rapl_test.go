package rapl

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/meter/power/source"
)

// tree writes files below a root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(root, name), text)
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func name(t *testing.T, text string) *source.Name {
	t.Helper()
	n, err := source.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Two packages with their memory, as a server of two sockets has them, and the
// zones of their cores, which are part of the packages.
func server(t *testing.T) string {
	files := map[string]string{}
	for zone, is := range map[string][2]string{
		"intel-rapl:0": {"package-0", "262143328850"}, "intel-rapl:0:0": {"core", "262143328850"}, "intel-rapl:0:1": {"dram", "65712999613"},
		"intel-rapl:1": {"package-1", "262143328850"}, "intel-rapl:1:0": {"dram", "65712999613"}, "intel-rapl:2": {"psys", "262143328850"},
	} {
		dir := "sys/class/powercap/" + zone + "/"
		files[dir+"name"], files[dir+"max_energy_range_uj"], files[dir+"energy_uj"] = is[0], is[1], "262143000000"
		if is[0] == "dram" {
			files[dir+"energy_uj"] = "1000000"
		}
	}
	return tree(t, files)
}

func TestPowercapWrapsAround(t *testing.T) {
	root := server(t)
	p, err := OpenPowercap(root, name(t, "rapl:"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.zones) != 4 || !p.Source().Part {
		t.Fatalf("zones of %s", p.Source().Of)
	}
	read := func() float64 {
		t.Helper()
		v := []float64{-1}
		if err := p.Read(v); err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	read()
	set := func(zone string, uj int) {
		put(t, filepath.Join(root, "sys/class/powercap", zone, "energy_uj"), strconv.Itoa(uj))
	}
	set("intel-rapl:0", 262143000000+200000) // 0.2 J more
	set("intel-rapl:1", 1000000)             // began anew after 0.32885 J, then 1 J
	set("intel-rapl:0:1", 1500000)           // 0.5 J
	if got, want := read(), 0.2+0.328850+1+0.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("%.6f J, want %.6f", got, want)
	}
	set("intel-rapl:0", 263000000000)
	v := []float64{-1}
	if err := p.Read(v); err == nil || !strings.Contains(err.Error(), "above the counter's range") || !math.IsNaN(v[0]) {
		t.Errorf("a counter above its range: %v, %v", v, err)
	}
	put(t, filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj"), "lots")
	if err := p.Read(v); err == nil || !strings.Contains(err.Error(), `"lots`) {
		t.Errorf("a counter that is not a number: %v", err)
	}
	psys, err := OpenPowercap(root, name(t, "rapl:?zone=psys"))
	if err != nil || len(psys.zones) != 1 || psys.Source().Part {
		t.Errorf("psys: %v, %v", psys, err)
	}
}

func TestNoCounters(t *testing.T) {
	root := t.TempDir()
	if _, err := OpenPowercap(root, name(t, "rapl:")); !errors.Is(err, bench.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := OpenEvents(root, name(t, "perf:")); !errors.Is(err, bench.ErrUnavailable) {
		t.Error(err)
	}
}

// The kernel's own events of the PMU "software" are counted where a tree says
// that they are the processor's energy: a nanosecond of CPU 0 is a nanojoule.
func TestEvents(t *testing.T) {
	dir := "sys/bus/event_source/devices/power/"
	root := tree(t, map[string]string{dir + "type": "1", dir + "cpumask": "0",
		dir + "events/energy-pkg": "event=0x00", dir + "events/energy-pkg.scale": "1e-9"})
	e, err := OpenEvents(root, name(t, "perf:"))
	if err != nil {
		t.Skipf("this host opens no events: %v", err)
	}
	defer e.Close()
	v := []float64{-1}
	if err := e.Read(v); err != nil {
		t.Fatal(err)
	}
	began, first := time.Now(), v[0]
	time.Sleep(100 * time.Millisecond)
	if err := e.Read(v); err != nil {
		t.Fatal(err)
	}
	if d := v[0] - first; d < 0.1 || d > time.Since(began).Seconds()+0.01 {
		t.Errorf("%g J of 1 W in %v", d, time.Since(began))
	}
	for file, text := range map[string]string{"type": "x", "cpumask": "0-", "events/energy-pkg": "umask=yes", "events/energy-pkg.scale": "0"} {
		bad := tree(t, map[string]string{dir + "type": "1", dir + "cpumask": "0", dir + "events/energy-pkg": "event=0x00", dir + "events/energy-pkg.scale": "1e-9"})
		put(t, filepath.Join(bad, dir, file), text)
		if _, err := OpenEvents(bad, name(t, "perf:")); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s %q: %v", file, text, err)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add("event=0x02")
	f.Add("event=0x02,umask=0x01\n")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := parseEvent(text); err == nil && v > 0xffff {
			t.Errorf("%q is %#x", text, v)
		}
	})
}

func FuzzParseList(f *testing.F) {
	f.Add("0,32")
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := parseList(text)
		if err == nil && (len(cpus) == 0 || len(cpus) > 2*maxCPUs) {
			t.Errorf("%q has %d CPUs", text, len(cpus))
		}
	})
}

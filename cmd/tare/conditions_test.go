package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// machine is a copy of the kernel's files about the CPUs with control over their
// frequency, and of the one about huge pages, that a program can be shown in
// their place.
type machine struct{ cpus, thp string }

func newMachine(t *testing.T) machine {
	t.Helper()
	if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
		t.Skipf("no mount namespace can be made: %v", err)
	}
	m := machine{t.TempDir(), filepath.Join(t.TempDir(), "enabled")}
	err := filepath.WalkDir("/sys/devices/system/cpu", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/cpufreq/") {
			return nil // what cannot be read is not needed
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		to := filepath.Join(m.cpus, strings.TrimPrefix(path, "/sys/devices/system/cpu/"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(m.cpus, "cpufreq/policy0")
	if err := os.MkdirAll(policy, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"scaling_governor": "powersave", "scaling_available_governors": "performance powersave",
		"scaling_min_freq": "800000", "scaling_max_freq": "3600000", "cpuinfo_min_freq": "800000", "cpuinfo_max_freq": "4200000", "scaling_cur_freq": "1200000"} {
		if err := os.WriteFile(filepath.Join(policy, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cpus, err := filepath.Glob(filepath.Join(m.cpus, "cpu[0-9]*"))
	if err != nil || len(cpus) == 0 {
		t.Fatalf("no CPUs were copied: %v", err)
	}
	for _, dir := range cpus {
		os.RemoveAll(filepath.Join(dir, "cpufreq"))
		if err := os.Symlink("../cpufreq/policy0", filepath.Join(dir, "cpufreq")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(m.thp, []byte("always [madvise] never\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

// start runs tare where the machine's files are in place of this host's.
func (m machine) start(t *testing.T, state string, args ...string) *program {
	t.Helper()
	const show = `mount --bind "$1" /sys/devices/system/cpu && mount --bind "$2" /sys/kernel/mm/transparent_hugepage/enabled && shift 2 && exec "$@"`
	all := append([]string{"-m", "--propagation", "private", "sh", "-c", show, "sh", m.cpus, m.thp, filepath.Join(bin, "tare")}, args...)
	return startCommand(t, state, "unshare", all...)
}

// state is what is set: huge pages, governor, bounds.
func (m machine) state(t *testing.T) string {
	t.Helper()
	var all []string
	for _, path := range []string{m.thp, "scaling_governor", "scaling_min_freq", "scaling_max_freq"} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(m.cpus, "cpufreq/policy0", path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSpace(string(b))
		if _, after, ok := strings.Cut(text, "["); ok {
			text, _, _ = strings.Cut(after, "]")
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// TestConditionsAreSetAndPutBack runs a scene under conditions of the host, kills
// the run in its measurement, and finds that cleaning, and the next run, put back
// what was there.
func TestConditionsAreSetAndPutBack(t *testing.T) {
	state := realState(t)
	m := newMachine(t)
	const before, during = "madvise powersave 800000 3600000", "never performance 1200000 1200000"
	const scene = "  - {name: cpu, workload: sysbench-cpu, conditions: {governor: performance, frequency: 1.2GHz, thp: never}}\n"
	spec := writeSpec(t, "native", scene)
	kill := func(dir string) {
		t.Helper()
		p := m.start(t, state, "run", spec, "-o", dir, "-v", "--set", "timing.measure=5s")
		p.await(`: measure$`)
		if got := m.state(t); got != during {
			t.Errorf("while the scene runs: %s, want %s", got, during)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.end()
		if got := m.state(t); got != during {
			t.Errorf("a killed run put back %s, so this test shows nothing", got)
		}
	}
	kill(filepath.Join(t.TempDir(), "first"))
	m.start(t, state, "clean").ends(exitDone)
	if got := m.state(t); got != before {
		t.Errorf("after cleaning: %s, want %s", got, before)
	}
	kill(filepath.Join(t.TempDir(), "second"))
	dir := filepath.Join(t.TempDir(), "third")
	p := m.start(t, state, "run", spec, "-o", dir)
	p.end()
	p.says("removed what run", "setting /sys/kernel/mm/transparent_hugepage/enabled=madvise")
	if got := m.state(t); got != before {
		t.Errorf("after a run: %s, want %s", got, before)
	}
	for _, o := range outcomes(t, dir) {
		if o.Status != bench.Done || o.Actors[0].Facts[bench.FactHostGovernor] != "performance" {
			t.Errorf("trial %s is %s, %s: facts %v", o.Trial, o.Status, o.Error, o.Actors[0].Facts)
		}
	}
}

// A host that lets nothing be set says so, and measures the rest.
func TestConditionsThatCannotBeSet(t *testing.T) {
	state := realState(t)
	m := newMachine(t)
	if err := os.RemoveAll(filepath.Join(m.cpus, "cpufreq")); err != nil {
		t.Fatal(err)
	}
	spec := writeSpec(t, "native", cpuScene+"  - {name: slow, workload: sysbench-cpu, vary: {conditions.frequency: [min, max]}}\n")
	dir := filepath.Join(t.TempDir(), "results")
	p := m.start(t, state, "run", spec, "-o", dir)
	p.end()
	p.says("slow: left out: this host gives no control over its CPUs' frequency")
	if n := len(outcomes(t, dir)); n != 1 {
		t.Errorf("%d outcomes, want that of the other scene", n)
	}
}

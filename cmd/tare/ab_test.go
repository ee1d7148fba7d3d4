package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// wrapper writes a program that does something before it becomes another.
func wrapper(t *testing.T, program, name, before string) string {
	t.Helper()
	program, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ab") // short, and with the letters that a path may have
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\n%s\nexec %s \"$@\"\n", before, program), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// The same program under two names is not called different, and one that is slow
// to start is; the gate decides on the one run.
func TestABOfTwoPrograms(t *testing.T) {
	state := realState(t)
	spec := writeSpec(t, "native, crun", startupScene)
	same, slow := wrapper(t, "crun", "crun-same", "true"), wrapper(t, "crun", "crun-slow", "sleep 1")
	base := wrapper(t, "crun", "crun-base", "true")
	for _, c := range []struct {
		name, program string
		differs       bool
	}{{"same", same, false}, {"slow", slow, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results")
			a, b := "crun[program="+base+"]", "crun[program="+c.program+"]"
			p := start(t, state, "ab", a, b, spec, "-o", dir, "--set", "blocks=8", "--allow-unfair")
			p.end()
			r := resultOf(t, dir)
			if r.Baseline != a || len(r.Cases) != 1 {
				t.Fatalf("baseline %s, %d cases: %s", r.Baseline, len(r.Cases), p.stderr())
			}
			for _, row := range r.Cases[0].Rows {
				if row.Baseline || row.Metric.Name != "time_to_ready" {
					continue
				}
				if row.Platform != b || row.N != 8 {
					t.Errorf("%s: %d launches", row.Platform, row.N)
				}
				e := row.Effect
				t.Logf("%s", e.Words)
				if (e.Verdict == result.Differs && e.Ratio > 2) != c.differs {
					t.Errorf("%s: %s", e.Verdict, e.Words)
				}
			}
			run, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			h := run.Header()
			run.Close()
			if len(h.Chosen) != 2 || h.Chosen[0].Digest == h.Chosen[1].Digest && c.differs || !strings.HasPrefix(h.Chosen[0].Digest, "sha256:") || h.Chosen[0].Version == "" {
				t.Errorf("chosen %+v", h.Chosen)
			}
			for _, o := range outcomes(t, dir) {
				if argv := o.Actors[0].Launch; o.Status != bench.Done || argv[0] != base && argv[0] != c.program {
					t.Errorf("%s, launched %q: %s", o.Status, argv, o.Error)
				}
			}
			gate := start(t, state, "gate", dir, "--max-regression", "50%", "--allow-unfair", "--metric", "time_to_ready")
			gate.end()
			t.Log(gate.stdout.String())
			if got := gate.cmd.ProcessState.ExitCode(); (got == exitRegression) != c.differs {
				t.Errorf("gate: status %d: %s", got, gate.stdout.String())
			}
		})
	}
}

// Whatever platform a program is chosen for, that is what runs.
func TestChosenProgramsRun(t *testing.T) {
	state := realState(t)
	for _, c := range []struct{ platform, program string }{
		{"runc", "runc"}, {"podman", "crun"}, {"containerd", "runc"}, {"docker", "runc"}, {"qemu-tcg", "qemu-system-x86_64"},
	} {
		t.Run(c.platform, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "ran")
			program := wrapper(t, c.program, "program", "echo \"$*\" >> "+mark)
			chosen := c.platform + "[program=" + program + "]"
			dir := filepath.Join(t.TempDir(), "results")
			p := start(t, state, "ab", c.platform, chosen, writeSpec(t, c.platform, cpuScene), "-o", dir, "--allow-unfair")
			p.end()
			all := outcomes(t, dir)
			if len(all) != 2 {
				t.Fatalf("%d outcomes: %s", len(all), p.stderr())
			}
			for _, o := range all {
				if o.Status != bench.Done {
					t.Errorf("%s: %s: %s\n%s", o.Scene, o.Status, o.Error, o.Actors[0].Log)
				}
			}
			said, err := os.ReadFile(mark)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(said), "\n"); n < 2 || strings.Count(string(said), "--version\n") > 3 {
				t.Errorf("%d calls of the program: %s", n, said)
			}
		})
	}
}

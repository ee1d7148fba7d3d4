package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// program is tare at work.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	lines  chan string // of standard error, as they come
	mu     sync.Mutex
	said   []string
}

// patience bounds everything a test waits for.
const patience = 2 * time.Minute

// start starts tare on a state directory. Other tests keep the host busy, which can make the
// comparisons of a run unfair; what that does to it is tested with runs that are made up.
func start(t *testing.T, state string, args ...string) *program {
	t.Helper()
	switch args[0] {
	case "run", "resume", "report":
		args = append(args, "--allow-unfair")
	}
	return startCommand(t, state, filepath.Join(bin, "tare"), args...)
}

func startCommand(t *testing.T, state, name string, args ...string) *program {
	t.Helper()
	return startWithin(t, patience, state, name, args...)
}

// startWithin kills the program when the time is over.
func startWithin(t *testing.T, limit time.Duration, state, name string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	p := &program{t: t, cmd: exec.CommandContext(ctx, name, args...), lines: make(chan string, 10_000)}
	p.cmd.Env = append(os.Environ(), "TARE_STATE="+state)
	p.cmd.Stdout = &p.stdout
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.mu.Lock()
			p.said = append(p.said, s.Text())
			p.mu.Unlock()
			p.lines <- s.Text()
		}
	}()
	return p
}

// await waits for a line of standard error that matches and returns its groups.
func (p *program) await(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for line := range p.lines {
		if m := re.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	p.cmd.Wait()
	p.t.Fatalf("%v ended before it said %q:\n%s", p.cmd.Args[1:], pattern, p.stderr())
	return nil
}

// end waits for the program and returns its exit status, -1 if it was killed.
func (p *program) end() int {
	p.t.Helper()
	for range p.lines {
	}
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends fails the test if the program ends with another status.
func (p *program) ends(status int) {
	p.t.Helper()
	if got := p.end(); got != status {
		p.t.Fatalf("%v: exit status %d, not %d:\n%s", p.cmd.Args[1:], got, status, p.stderr())
	}
}

func (p *program) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.said, "\n")
}

// says fails the test unless standard error has the text.
func (p *program) says(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.stderr(), text) {
			p.t.Errorf("%v does not say %q:\n%s", p.cmd.Args[1:], text, p.stderr())
		}
	}
}

// outcomes reads what is stored of a run, by trial.
func outcomes(t *testing.T, dir string) map[string]*bench.Outcome {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := map[string]*bench.Outcome{}
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		all[o.Trial] = o
	}
	return all
}

// writeSpec writes a small experiment on the platforms.
func writeSpec(t *testing.T, platforms string, scenes string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	text := "name: small\nplatforms: [" + platforms + "]\nbaseline: " + strings.Split(platforms, ",")[0] + `
shape: {cpus: 1, memory: 256MiB, disk: 64MiB}
timing: {warmup: 0s, measure: 300ms, cooldown: 0s}
disturbed: {repeats: 0} # other tests run beside this one
blocks: 1
scenes:
` + scenes
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	cpuScene     = "  - {name: cpu, workload: sysbench-cpu}\n"
	startupScene = "  - {name: startup, startup: true}\n"
)

// runID matches the first line a run says.
const runID = `^run (\S+): `

// resultOf is what the report says of a run.
func resultOf(t *testing.T, dir string) *result.Result {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	result, err := analysis.Analyze(r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

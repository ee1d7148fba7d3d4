package workload

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"tare/internal/bench"
)

// execute runs a workload's main command here and now.
func execute(t *testing.T, c bench.Command) bench.Output {
	t.Helper()
	if _, err := exec.LookPath(c.Argv[0]); err != nil {
		t.Fatalf("%s is not installed: ./test installs it", c.Argv[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
	start := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return bench.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Exit: cmd.ProcessState.ExitCode(), Wall: time.Since(start)}
}

// The command lines are understood by the real programs and their output by the parsers.
func TestForReal(t *testing.T) {
	s := setting()
	s.Timing = bench.Timing{Measure: time.Second}
	for _, c := range []struct {
		w     bench.Workload
		given bench.Params
	}{
		{sysbenchCPU{}, bench.Params{"threads": "2"}},
		{command{}, bench.Params{"argv": `["echo", "{\"rate\": [1, 2.5]}"]`,
			"metrics": `[{"name":"json","better":"higher","json":"rate[1]"},{"name":"regex","better":"higher","regex":", (.*)\\]"}]`}},
	} {
		t.Run(c.w.Name(), func(t *testing.T) {
			p := fill(t, c.w, c.given)
			steps, err := c.w.Steps(bench.SubjectPart, p, s)
			if err != nil {
				t.Fatal(err)
			}
			out := execute(t, steps.Main)
			values, err := c.w.Parse(p, s, out)
			if err != nil {
				t.Fatal(err)
			}
			checkValues(t, c.w, p, values)
			if w, ok := c.w.(bench.Histogrammer); ok {
				hs, err := w.Histograms(p, s, out)
				if err != nil || len(hs) == 0 {
					t.Fatalf("%d histograms: %v", len(hs), err)
				}
				checkHistograms(t, hs, err)
			}
		})
	}
}

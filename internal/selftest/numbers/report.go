package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/host/tree"
	"tare/internal/result"
	"tare/internal/result/store/storetest"
	"tare/internal/selftest"
)

// report times tare report, a process of its own, on a synthetic run.
func report(ctx context.Context, n *numbers) ([]selftest.Measured, error) {
	dir := filepath.Join(n.dir, "million")
	defer tree.Remove(dir)
	// Another process makes the run: a child's peak memory begins with that of
	// the process it was started by, see getrusage(2) and vfork(2).
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "generate", dir)
	cmd.Stderr = n.stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("make a run of a million samples: %w", err)
	}
	text, err := n.tare.command(ctx, "report", dir, "--format", "json").Output()
	if err := decided(err); err != nil {
		return nil, fmt.Errorf("tare report: %w", err)
	}
	var r result.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("result of tare report: %w", err)
	}
	samples := 0
	for _, l := range r.Observer.Levels {
		samples += l.Samples
	}
	var seconds []float64
	peak := 0.0
	for range 5 {
		cmd := n.tare.command(ctx, "report", dir, "--format", "html")
		began := time.Now()
		if err := decided(cmd.Run()); err != nil {
			return nil, fmt.Errorf("tare report: %w", err)
		}
		seconds = append(seconds, time.Since(began).Seconds())
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return nil, errors.New("no resource usage of tare report")
		}
		peak = max(peak, float64(usage.Maxrss)*1024/1e6)
	}
	how := fmt.Sprintf("tare report --format html on %d samples, %d times: ", samples, len(seconds))
	return []selftest.Measured{
		selftest.Promises[selftest.ReportTime].AtMost(stats.Median(seconds), how+"median"),
		selftest.Promises[selftest.ReportMemory].AtMost(peak, how+"highest resident set"),
	}, nil
}

// generate writes a run of a million samples into the directory.
func generate(args []string) error {
	if len(args) != 1 {
		return errors.New("generate: one directory")
	}
	storetest.Synthetic(failing{}, args[0], storetest.Options{Blocks: 3, Seconds: 2550, Seed: 1})
	return nil
}

// failing is the part of a test that storetest asks for.
type failing struct{ testing.TB }

func (failing) Helper() {}

func (failing) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(selftest.ExitBroken)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"tare/internal/host/tree"
	"tare/internal/result"
)

// tare is the program under test, used as its users do.
type tare struct{ path, state string }

// run carries out the specification and returns its result. That three blocks
// are too few to decide anything is not an error here.
func (t tare) run(ctx context.Context, dir, spec string) (*result.Result, error) {
	dir, err := os.MkdirTemp(dir, "run")
	if err != nil {
		return nil, err
	}
	defer tree.Remove(dir)
	file := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(file, []byte(spec), 0o644); err != nil {
		return nil, err
	}
	cmd := t.command(ctx, "run", file, "-o", filepath.Join(dir, "results"), "--json")
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := decided(cmd.Run()); err != nil {
		return nil, fmt.Errorf("tare run: %w: %s", err, bytes.TrimSpace(words.Bytes()))
	}
	var r result.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("result of tare run: %w", err)
	}
	if !r.Complete || len(r.Skipped) > 0 {
		return nil, fmt.Errorf("tare run: not all was measured: %s", bytes.TrimSpace(words.Bytes()))
	}
	return &r, nil
}

// decided is err but for the status of results that do not decide, which is no
// error here.
func decided(err error) error {
	const undecided = 2
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == undecided {
		return nil
	}
	return err
}

// command is a command of tare that is interrupted, not killed, when ctx ends,
// so that it can clean up.
func (t tare) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.path, append(args, "--state", t.state)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once
	return cmd
}

// agent is the path of the agent beside the program.
func (t tare) agent() (string, error) {
	path, err := filepath.Abs(filepath.Join(filepath.Dir(t.path), "tare-agent"))
	if err == nil {
		_, err = os.Stat(path)
	}
	return path, err
}

// headline is the value of the case's headline metric in a run of one trial.
func headline(r *result.Result) (metric string, value float64, err error) {
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			if row.Metric.Headline && len(row.Points) == 1 {
				return row.Metric.Name, row.Points[0].Value, nil
			}
		}
	}
	return "", 0, errors.New("the run has no value of its headline metric")
}

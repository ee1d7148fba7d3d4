package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result/store"
	"tare/internal/selftest"
)

// repeatSpec has the programs of quick, launched apart, and in turns where quick takes them. Names
// of cases in turns are those of the others with a suffix.
const repeatSpec = `
name: repeat
platforms: [native, lxc, docker]
baseline: native
controls: true
blocks: %d
shape: {cpus: 1, memory: 1GiB, disk: 1GiB}
timing: {warmup: 500ms, measure: 1s, cooldown: 100ms}
scenes:
  - {name: cpu, workload: sysbench-cpu}
  - {name: cpu-in-turns, workload: sysbench-cpu, timing: {measure: 2s}, turns: 50ms}
  - {name: memory, workload: stream, grow: true, optional: true}
  - {name: disk-randread, workload: fio, params: {rw: randread, bs: 4KiB, size: 128MiB}, timing: {measure: 2s}}
  - {name: disk-randread-in-turns, workload: fio, params: {rw: randread, bs: 4KiB, size: 128MiB}, timing: {measure: 2s}, turns: 50ms}
  - {name: disk-randrw, workload: fio, params: {rw: randrw, bs: 4KiB, size: 128MiB}, timing: {measure: 2s}}
  - {name: disk-randrw-in-turns, workload: fio, params: {rw: randrw, bs: 4KiB, size: 128MiB}, timing: {measure: 2s}, turns: 50ms}
  - {name: net-stream, workload: netperf, params: {test: TCP_MAERTS, message-size: 16KiB}}
  - {name: net-stream-in-turns, workload: netperf, params: {test: TCP_MAERTS, message-size: 16KiB, socket-buffer: 256KiB}, timing: {measure: 2s}, turns: 50ms}
  - {name: net-rr, workload: netperf, params: {test: TCP_RR, message-size: 1KiB}}
  - {name: net-rr-in-turns, workload: netperf, params: {test: TCP_RR, message-size: 1KiB}, timing: {measure: 2s}, turns: 50ms}
  - {name: startup, startup: true}
`

// repeatWidth is the half width that is asked for.
const repeatWidth = 0.03

// repeat compares ways of repeating on the programs of quick.
func repeat(ctx context.Context, n *numbers) ([]selftest.Measured, error) {
	results := n.run
	if results == "" {
		var err error
		if results, err = repeated(ctx, n); err != nil {
			return nil, err
		}
	}
	run, err := store.Open(results)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	rows, err := selftest.Repeating(selftest.Ran{Plan: run.Plan(), Outcomes: bench.Counting(run.Outcomes())}, repeatWidth)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("no row has three blocks")
	}
	for _, r := range rows {
		n.say("  %s on %s: %.0f s; in blocks %.0f s, hyperfine's way %.0f s, Phoronix's way %.0f s", r.Case, r.Platform, r.Tare, r.Blocks, r.Hyperfine, r.Phoronix)
	}
	var found []selftest.Measured
	for _, way := range []struct {
		name string
		took func(selftest.RepeatRow) float64
	}{
		{"blocks with one baseline and no turns", func(r selftest.RepeatRow) float64 { return r.Blocks }},
		{"hyperfine's way", func(r selftest.RepeatRow) float64 { return r.Hyperfine }},
		{"Phoronix's way", func(r selftest.RepeatRow) float64 { return r.Phoronix }},
	} {
		var shares []float64
		for _, r := range rows {
			shares = append(shares, 100*r.Tare/way.took(r))
		}
		found = append(found, selftest.Promises[selftest.HalfPeers].AtMost(stats.Median(shares),
			fmt.Sprintf("%d rows in %d blocks", len(rows), run.Plan().Blocks), "width", fmt.Sprintf("±%g %%", 100*repeatWidth), "way", way.name))
	}
	return found, nil
}

// repeated measures what the ways are compared on.
func repeated(ctx context.Context, n *numbers) (results string, err error) {
	file, results := filepath.Join(n.dir, "repeat.yaml"), filepath.Join(n.dir, "repeat")
	if err := os.WriteFile(file, fmt.Appendf(nil, repeatSpec, n.repeat(8)), 0o600); err != nil {
		return "", err
	}
	cmd := n.tare.command(ctx, "run", file, "-o", results)
	cmd.Stderr = n.stderr
	if err := decided(cmd.Run()); err != nil {
		return "", fmt.Errorf("tare run: %w", err)
	}
	return results, nil
}

package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// TestServe measures servers of a family and of the user's own, and leaves nothing behind.
func TestServe(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, docker", `
  - {name: rr, workload: netserver, params: {test: UDP_RR}}
  - name: own
    workload: service
    params:
      server: [perl, -e, 'use Socket; socket(S,PF_INET,SOCK_STREAM,0); bind(S,sockaddr_in($ENV{TARE_PORT},INADDR_ANY)) or die; listen(S,9); while(accept(C,S)){close C}']
      load: [perl, -e, 'use Socket; socket(S,PF_INET,SOCK_STREAM,0); connect(S,sockaddr_in($ARGV[1],inet_aton($ARGV[0]))) or die; print "got 1"', '{server}', '{port}']
      port: 7000
      metrics: [{name: got, better: higher, regex: 'got (.*)'}]
  - name: dying
    workload: service
    params: {server: [sh, -c, 'sleep 1; echo lost the disk >&2; exit 7'], load: [sleep, 30], port: 7001, probe: none}
`), "-o", dir)
	p.end()
	all := outcomes(t, dir)
	if len(all) != 6 {
		t.Errorf("%d outcomes of 6 trials", len(all))
	}
	for _, o := range all {
		dies := strings.HasPrefix(o.Scene, "dying")
		switch {
		case dies && (o.Status != bench.Failed || !strings.Contains(o.Error, "exit status 7") || !strings.Contains(o.Error, "lost the disk")):
			t.Errorf("%s: %s: %s", o.Scene, o.Status, o.Error)
		case !dies && (o.Status != bench.Done || len(o.Values) == 0):
			t.Errorf("%s: %s: %s", o.Scene, o.Status, o.Error)
		}
	}
}

// TestPeakOfAServerOfKnownCapacity has the peak of a real server found that answers so many requests
// per second and no more.
func TestPeakOfAServerOfKnownCapacity(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("asks a server at five rates, two minutes and an image of its own, and the host must be quiet: TARE_LONG=1 runs it")
	}
	const capacity = 600.
	dir := filepath.Join(t.TempDir(), "results")
	spec := writeSpec(t, "native", `
  - name: limited
    workload: web
    params: {client: httperf, limit: 600, errors: 100}
    vary: {rate: [300, 450, 550, 750, 1000]}
    peak: 100ms
    timing: {warmup: 300ms, measure: 5s}
`)
	p := startWithin(t, 5*patience, realState(t), filepath.Join(bin, "tare"), "run", spec, "--set", "blocks=3", "--set", "disturbed.repeats=3",
		"--allow-unfair", "-o", dir)
	p.end()
	sweeps := resultOf(t, dir).Sweeps
	i := slices.IndexFunc(sweeps, func(s result.Sweep) bool { return s.Lines[0].Peak != nil || s.Lines[0].NoPeak != "" })
	if i < 0 {
		t.Fatalf("no peak:\n%s", p.stderr())
	}
	if l := sweeps[i].Lines[0]; l.Peak == nil || math.Abs(l.Peak.At/capacity-1) > 0.05 || l.Peak.N != 3 {
		t.Errorf("%+v %s, want %v", l.Peak, l.NoPeak, capacity)
	}
}

// TestARateThatTheClientCannotHold has a real httperf asked for more than it has descriptors for. Its row
// says that the client may be the limit, and one below the server's capacity does not.
func TestARateThatTheClientCannotHold(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("needs an image of its own and a host that lets httperf hold its rate: TARE_LONG=1 runs it")
	}
	dir := filepath.Join(t.TempDir(), "results")
	spec := writeSpec(t, "native", `
  - name: limited
    workload: web
    params: {client: httperf, limit: 600, errors: 100}
    vary: {rate: [300, 6000]}
    timing: {warmup: 300ms, measure: 5s}
`)
	p := startWithin(t, 5*patience, realState(t), filepath.Join(bin, "tare"), "run", spec, "--set", "blocks=3", "--set", "disturbed.repeats=3",
		"--allow-unfair", "-o", dir)
	p.end()
	seen := 0
	for _, c := range resultOf(t, dir).Cases {
		for _, row := range c.Rows {
			if row.Metric.Name != "requests" {
				continue
			}
			seen++
			said := strings.Contains(strings.Join(row.Warnings, "\n"), "% of its rate and may be the limit")
			if want := strings.Contains(c.Name, "6000"); said != want {
				t.Errorf("%s: %q", c.Name, row.Warnings)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d rows of two cases:\n%s", seen, p.stderr())
	}
}

// TestApplications has every application of the built-in experiment do its work, in the image that
// holds them all.
func TestApplications(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := startWithin(t, 5*patience, state, filepath.Join(bin, "tare"), "run", "applications", "--platforms", "native", "--set", "blocks=1",
		"--set", "timing.warmup=500ms", "--set", "timing.measure=1s", "--set", "disturbed.repeats=0", "--allow-unfair", "-o", dir)
	planned := p.await(`: (\d+) trials in 1 block`)[1]
	p.end()
	all := outcomes(t, dir)
	if strconv.Itoa(len(all)) != planned {
		t.Errorf("%d outcomes of %s trials:\n%s", len(all), planned, p.stderr())
	}
	for _, o := range all {
		if o.Status != bench.Done || len(o.Values) < 2 {
			t.Errorf("%s: %s: %s: %v", o.Scene, o.Status, o.Error, o.Values)
		}
	}
}

package store_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store"
)

// A run that the version before stored reads as this version would have written it.
func TestRunOfTheFormatBefore(t *testing.T) {
	r, err := store.Open("testdata/before")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if format := r.Header().Format; format != "tare-run/1" {
		t.Fatalf("the run has format %s", format)
	}
	p := r.Plan()
	names := func(of string) (list []string) {
		for _, m := range p.Metrics[of] {
			list = append(list, m.Name)
		}
		return list
	}
	for of, want := range map[string]string{
		"cpu": "throughput mean_latency p95_latency", "up": "time_to_ready time_to_first_command", "own": "latency_mean wall",
		"grow": "memory_pss memory_rss memory_cgroup memory_cgroup_held time_to_first_command",
	} {
		if got := strings.Join(names(of), " "); got != want {
			t.Errorf("metrics of %s: %s, want %s", of, got, want)
		}
	}
	contained := 0
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			if c := a.Containment; c != nil && c.Pids == 200 {
				contained++
			}
		}
	}
	if contained != 2 {
		t.Errorf("%d adversaries have their limits, want 2", contained)
	}
	outcomes, ramps, samples := 0, 0, 0
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		outcomes++
		of, _, _ := strings.Cut(o.Scene, "/")
		known := names(of)
		for _, v := range o.Values {
			if !slices.Contains(known, v.Metric) {
				t.Errorf("%s: a value of %s, which is no metric of %s", o.Trial, v.Metric, of)
			}
		}
		for _, a := range o.Actors {
			for _, v := range a.Values {
				if (of == "up" || of == "grow") && !slices.Contains(names("up"), v.Metric) {
					t.Errorf("%s: %s has a value of %s", o.Trial, a.Actor, v.Metric)
				}
			}
		}
		if o.Density != nil && len(o.Density.Steps) == 2 {
			ramps++
		}
		if err := r.Samples(o.Trial, func(*bench.Sample) error { samples++; return nil }); err != nil {
			t.Error(err)
		}
	}
	if outcomes != 20 || ramps != 4 || samples == 0 {
		t.Errorf("%d outcomes, %d ramps, %d samples; want 20, 4 and some", outcomes, ramps, samples)
	}
}

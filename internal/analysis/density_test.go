package analysis

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
	"tare/internal/result/store"
)

// rampAt is a ramp to four and eight of a platform whose instances take each MiB beside 10 MiB that are there anyway.
func rampAt(each float64, limit bench.Limit) *bench.Density {
	c := &bench.Density{Limit: limit, Why: "so it was", Instances: 8}
	for _, n := range []int{4, 8} {
		mib := func(v float64) float64 { return v * float64(bench.MiB) }
		cpu, all, own := 0.01*float64(n), 0.01*float64(n)+0.205, 0.001+0.0005*float64(n)
		c.Steps = append(c.Steps, bench.DensityStep{Instances: n, Start: int64(n) * 1e9, End: int64(n)*1e9 + 1e9, CPU: &cpu, HostCPU: &all, Observer: &own,
			Memory: map[string]float64{bench.DensityPSS: mib(10 + each*float64(n)), bench.DensityUsed: mib(-each * float64(n))}})
	}
	return c
}

// densities stores a run of ramps: for each platform what one instance takes in each block; NaN is a failed one.
func densities(t *testing.T, each map[string][]float64) *result.Result {
	t.Helper()
	p := &bench.Plan{Experiment: "e", Blocks: 3, Baseline: "native", Margin: 0.03, Metrics: map[string][]bench.Metric{"crowd": bench.RampMetrics}}
	for _, name := range []string{"native", "docker"} {
		ref := bench.PlatformRef{Name: name}
		s := bench.Scene{ID: "density/" + name, Case: "crowd", Title: "A crowd", Kind: bench.Ramped, Platform: ref, Ramp: &bench.Ramp{To: 8, Step: 4}}
		for i := range 8 {
			s.Actors = append(s.Actors, bench.Actor{Name: fmt.Sprintf("subject-%d", i+1), Role: bench.Subject, Platform: ref, CPUSet: []int{i % 2}})
		}
		p.Scenes = append(p.Scenes, s)
		for b := range 3 {
			p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%d-%s", b+1, name), Block: b + 1, Scene: s.ID})
		}
	}
	w, err := store.Create(t.TempDir(), store.Header{Run: "r1"}, nil, p, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, trial := range p.Trials {
		s := p.Scene(trial.Scene)
		mib := each[s.Platform.Name][trial.Block-1]
		o := &bench.Outcome{Trial: trial.ID, Block: trial.Block, Scene: trial.Scene, Status: bench.Done, Window: [2]int64{8e9, 9e9},
			Density: rampAt(mib, bench.LimitCount), Values: []bench.Value{{Metric: "memory_pss", Value: mib}}}
		if trial.Block == 3 {
			o.Density.Limit = bench.LimitMemory
		}
		for i, a := range s.Actors {
			o.Actors = append(o.Actors, bench.ActorOutcome{Actor: a.Name, Role: a.Role, Platform: a.Platform, Version: "1", Unenforced: []string{"disk size"},
				Scope: &bench.Scope{}, Values: []bench.Value{{Metric: "time_to_ready", Value: 1}, {Metric: "time_to_first_command", Value: 100 + 2*float64(i+1)}}})
		}
		if math.IsNaN(mib) {
			o.Status, o.Density, o.Values = bench.Failed, nil, nil
		}
		if err := w.Append(context.Background(), o, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Analyze(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDensityIsASlopeWithAnInterval(t *testing.T) {
	r := densities(t, map[string][]float64{"native": {1, 1.1, 0.9}, "docker": {5, 6, 7}})
	c := r.Cases[0]
	if len(c.Density) != 2 || len(c.Usage) != 0 || c.Resource != "density" {
		t.Fatalf("%d rows, %d usages, %s", len(c.Density), len(c.Usage), c.Resource)
	}
	d := c.Density[1]
	if len(d.Memory) != 2 || d.Memory[0].Of != bench.DensityPSS || d.Memory[1].Of != bench.DensityUsed {
		t.Fatalf("%+v", d.Memory)
	}
	pss := d.Memory[0]
	approx(t, "slope", pss.PerInstance, 6)
	approx(t, "at 0", pss.At0, 10)
	// Student's t of three values with standard deviation 1: 4.3027 / sqrt(3).
	if !pss.HasInterval() || math.Abs(pss.Low-(6-2.48414)) > 1e-4 || math.Abs(pss.High-(6+2.48414)) > 1e-4 {
		t.Errorf("%+v", pss)
	}
	approx(t, "host", d.Memory[1].PerInstance, -6)
	approx(t, "start", d.Start.PerInstance, 2)
	approx(t, "start at 0", d.Start.At0, 100)
	approx(t, "cpu", d.CPU.PerInstance, 0.01)
	approx(t, "observer", d.Observer.PerInstance, 0.0005)
	if len(d.Ramps) != 3 || len(d.Ramps[0].Starts) != 8 || d.Ramps[2].Density.Limit != bench.LimitMemory {
		t.Errorf("%+v", d.Ramps)
	}
	row := c.Rows[1] // the headline of docker
	if row.Effect == nil || math.Abs(row.Effect.Ratio-5.966) > 0.01 {
		t.Errorf("%+v", row.Effect)
	}
	if n := strings.Count(strings.Join(row.Warnings, "\n"), "not enforced"); n != 1 {
		t.Errorf("what no instance enforces is said %d times", n)
	}
	if len(r.Layout) != 2 || fmt.Sprint(r.Layout[1].CPUSet) != "[0 1]" || r.Layout[1].Actor != "up to 8 instances" {
		t.Errorf("layout %+v", r.Layout)
	}
}

// Failed ramps are left out; below three there is no interval, and the reason is given.
func TestDensityWithoutInterval(t *testing.T) {
	nan := math.NaN()
	c := densities(t, map[string][]float64{"native": {1, 1.1, nan}, "docker": {nan, nan, nan}}).Cases[0]
	if len(c.Density) != 1 || c.Density[0].Platform != "native" {
		t.Fatalf("%+v", c.Density)
	}
	s := c.Density[0].Memory[0]
	if s.HasInterval() || s.Low != 0 || s.High != 0 || !strings.Contains(s.Why, "only 2 blocks") || math.Abs(s.PerInstance-1.05) > 1e-9 {
		t.Errorf("%+v", s)
	}
}

func TestDensityLoadIsOfTheOthers(t *testing.T) {
	c := rampAt(1, bench.LimitCount)
	if l := densityLoad(c); l == nil || math.Abs(*l-0.201) > 1e-9 {
		t.Errorf("load %v", l)
	}
	c.Steps[1].HostCPU = nil
	if l := densityLoad(c); l != nil {
		t.Errorf("load %v of a host that does not tell", *l)
	}
}

package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// rampScene is of n instances, three to a step.
func rampScene(n int) bench.Scene {
	actors := subjects(n, nil)
	for i := range actors {
		actors[i].Workload, actors[i].Part = "", ""
	}
	s := scene("r", actors)
	s.Kind = bench.Ramped
	s.Ramp = &bench.Ramp{To: n, Step: 3, Until: bench.RampUntil{Memory: 0.99}}
	s.Timing = bench.Timing{Warmup: 10 * time.Millisecond, Measure: 150 * time.Millisecond, Deadline: 20 * time.Second}
	return s
}

func rampOf(t *testing.T, o fake.Options, s bench.Scene) (bench.Outcome, []bench.Sample) {
	t.Helper()
	r, stored := newRunner(t, counter{}, o, s)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) > 0 {
		t.Errorf("left in the run's directory: %v, %v", left, err)
	}
	return stored.outcomes[0], stored.samples[stored.outcomes[0].Trial]
}

func sizes(c *bench.Density) string {
	var n []int
	for _, s := range c.Steps {
		n = append(n, s.Instances)
	}
	return fmt.Sprint(n)
}

func TestRampToItsCount(t *testing.T) {
	o, samples := rampOf(t, fake.Options{}, rampScene(7))
	if o.Status != bench.Done || o.Density == nil {
		t.Fatalf("%s in %s: %s", o.Status, o.Phase, o.Error)
	}
	if got := sizes(o.Density); got != "[3 6 7]" || o.Density.Limit != bench.LimitCount || o.Density.Instances != 7 || len(o.Actors) != 7 {
		t.Errorf("steps %s, %s at %d, %d actors", got, o.Density.Limit, o.Density.Instances, len(o.Actors))
	}
	for i, a := range o.Actors {
		if len(a.Values) != 2 || a.Values[1].Value < a.Values[0].Value || a.Values[0].Value <= 0 {
			t.Errorf("start-up of actor %d: %v", i, a.Values)
		}
	}
	for _, s := range o.Density.Steps {
		if width := time.Duration(s.End - s.Start); width < 150*time.Millisecond || s.HostCPU == nil || s.Observer == nil {
			t.Errorf("step %+v of %v", s, width)
		}
		for _, name := range []string{bench.DensityAvailable, bench.DensityUsed} {
			if _, ok := s.Memory[name]; !ok {
				t.Errorf("%s is not known at %d", name, s.Instances)
			}
		}
	}
	found := false
	for _, v := range o.Values {
		found = found || v.Metric == "time_to_first_command" && v.Value > 0
	}
	if !found || o.Window[1] <= o.Window[0] {
		t.Errorf("values %v, window %v", o.Values, o.Window)
	}
	host := 0
	for _, x := range samples {
		if x.Level == bench.Host {
			host++
		}
		if x.Level == bench.Guest {
			t.Errorf("an idle instance was asked inside: %+v", x)
		}
	}
	if host < 4 {
		t.Errorf("the host was read %d times", host)
	}
}

// One more that does not start, or a limit of the host's, ends the ramp and fails nothing.
func TestRampEndsAtALimit(t *testing.T) {
	noRoom := func(l bench.Launch) fake.Fault {
		if strings.HasSuffix(l.ID, "-5") {
			return fake.Fault{Start: errors.New("no room")}
		}
		return fake.Fault{}
	}
	silent := func(l bench.Launch) fake.Fault { return fake.Fault{Silent: strings.HasSuffix(l.ID, "-4")} }
	for name, c := range map[string]struct {
		fault  func(bench.Launch) fake.Fault
		until  bench.RampUntil
		limit  bench.Limit
		steps  string
		why    string
		actors int
	}{
		"launch": {noRoom, bench.RampUntil{Memory: 0.99}, bench.LimitLaunch, "[3 5]", "instance 6 did not start: launch subject-5 on fake: start test-b01-t01-5: no room", 6},
		"silent": {silent, bench.RampUntil{Memory: 0.99}, bench.LimitLaunch, "[3 4]", "instance 5 did not start", 5},
		"memory": {nil, bench.RampUntil{Memory: 1e-9}, bench.LimitMemory, "[1]", "of the host's memory were in use, the limit is 0 %", 1},
		"pids":   {nil, bench.RampUntil{Memory: 0.99, Pids: 1e-9}, bench.LimitPids, "[1]", "tasks were in use", 1},
		"time":   {nil, bench.RampUntil{Memory: 0.99, Time: time.Nanosecond}, bench.LimitTime, "[1]", "were over, the limit is 1ns", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := rampScene(7)
			s.Ramp.Until = c.until
			if name == "silent" {
				s.Timing.Deadline = time.Second
			}
			o, _ := rampOf(t, fake.Options{Fault: c.fault}, s)
			if o.Status != bench.Done {
				t.Fatalf("%s in %s: %s", o.Status, o.Phase, o.Error)
			}
			if o.Density.Limit != c.limit || sizes(o.Density) != c.steps || !strings.Contains(o.Density.Why, c.why) || len(o.Actors) != c.actors {
				t.Errorf("%s at %s, %d actors: %s", o.Density.Limit, sizes(o.Density), len(o.Actors), o.Density.Why)
			}
		})
	}
}

func TestRampThatNeverBeginsHasFailed(t *testing.T) {
	o, _ := rampOf(t, fake.Options{Fault: func(bench.Launch) fake.Fault { return fake.Fault{Start: errors.New("no room")} }}, rampScene(7))
	if o.Status != bench.Failed || o.Phase != "launch" || !strings.Contains(o.Error, "no room") || o.Density != nil {
		t.Errorf("%s in %s: %s, crowd %+v", o.Status, o.Phase, o.Error, o.Density)
	}
}

// Ctrl-C in the middle of a ramp closes what is up and stores the trial as aborted.
func TestRampIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var up []string
	fault := func(l bench.Launch) fake.Fault {
		if up = append(up, l.ID); len(up) == 5 {
			cancel()
		}
		return fake.Fault{}
	}
	r, stored := newRunner(t, counter{}, fake.Options{Fault: fault}, rampScene(7))
	if err := r.Run(ctx, nil); err == nil {
		t.Error("the run says nothing of having been stopped")
	}
	o := stored.outcomes[0]
	if o.Status != bench.Aborted || len(up) != 5 {
		t.Errorf("%s in %s after %d launches: %s", o.Status, o.Phase, len(up), o.Error)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) > 0 {
		t.Errorf("left in the run's directory: %v, %v", left, err)
	}
	for _, id := range up {
		pid := marked(t, id)
		for end := time.Now().Add(5 * time.Second); pid != "" && time.Now().Before(end); pid = marked(t, id) {
			time.Sleep(20 * time.Millisecond) // it was killed, and ends when it gets the CPU
		}
		if pid != "" {
			t.Errorf("process %s of %s is left", pid, id)
		}
	}
}

// marked finds a process with the mark in its environment.
func marked(t *testing.T, id string) string {
	t.Helper()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		env, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err == nil && strings.Contains(string(env), bench.ProcessMark+"="+id+"\x00") {
			return d.Name()
		}
	}
	return ""
}

func TestRampWithoutMeters(t *testing.T) {
	s := rampScene(4)
	s.Unmetered = true
	o, samples := rampOf(t, fake.Options{}, s)
	if o.Status != bench.Done || !o.Unmetered || len(samples) > 0 || o.Density.Instances != 4 {
		t.Errorf("%s, unmetered %v, %d samples, %+v", o.Status, o.Unmetered, len(samples), o.Density)
	}
}

func TestRampValuesAreSlopes(t *testing.T) {
	mib := func(v float64) map[string]float64 {
		return map[string]float64{bench.DensityPSS: v * float64(bench.MiB), bench.DensityUsed: -v}
	}
	c := &bench.Density{Steps: []bench.DensityStep{{Instances: 2, Memory: mib(25)}, {Instances: 4, Memory: mib(31)}, {Instances: 6, Memory: mib(37)}}}
	a := &actor{outcome: bench.ActorOutcome{Values: []bench.Value{{Metric: "time_to_ready", Value: 1}, {Metric: "time_to_first_command", Value: 4}}}}
	vs, err := rampValues(c, []*actor{a, a})
	if err != nil || len(vs) != 2 || vs[0].Metric != "memory_pss" || math.Abs(vs[0].Value-3) > 1e-9 || vs[1] != (bench.Value{Metric: "time_to_first_command", Value: 4}) {
		t.Errorf("%v, %v", vs, err)
	}
	c.Steps = c.Steps[:1]
	if vs, err = rampValues(c, []*actor{a}); err != nil || len(vs) != 1 {
		t.Errorf("of one size a slope is given: %v, %v", vs, err)
	}
}

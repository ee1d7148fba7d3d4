package run

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// A scene that is not observed is measured all the same, and says so.
func TestUnmetered(t *testing.T) {
	sc := scene("off", subjects(2, nil))
	sc.Unmetered = true
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	r.Beside = func(context.Context, *bench.Scene) ([]bench.Process, func(), error) {
		t.Error("something was started beside a trial without meters")
		return nil, nil, nil
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Values) != 1 || o.Values[0].Value != 14 || o.Window[1] <= o.Window[0] {
		t.Fatalf("%s: %v in %v: %s", o.Status, o.Values, o.Window, o.Error)
	}
	if !o.Unmetered || len(s.samples[o.Trial]) != 0 || !strings.Contains(strings.Join(o.Warnings, "\n"), "no meter was read") {
		t.Errorf("unmetered %v, %d samples, warnings %q", o.Unmetered, len(s.samples[o.Trial]), o.Warnings)
	}
	for _, a := range o.Actors {
		if a.Clock == nil || a.Scope == nil {
			t.Fatalf("%s: clock %v, scope %v", a.Actor, a.Clock, a.Scope)
		}
		for _, p := range a.Clock.Probes {
			if p.Phase == duringPhase {
				t.Errorf("the clock of %s was compared while nothing was to be observed", a.Actor)
			}
		}
	}
}

// What runs beside is read by a source of its own and ended with the trial.
func TestBesideIsReadAndEnded(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("on", subjects(1, nil)))
	stopped := 0
	r.Beside = func(context.Context, *bench.Scene) ([]bench.Process, func(), error) {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return nil, nil, err
		}
		return []bench.Process{{PID: c.Process.Pid, Part: "spinner"}}, func() { stopped++; c.Process.Kill(); c.Wait() }, nil
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o, last := s.outcomes[0], 0.0
	for _, x := range s.samples[o.Trial] {
		if x.Meter == bench.MeterBeside && x.Level == bench.Host {
			last = x.Values[bench.CPUOf("spinner")]
		}
	}
	if o.Status != bench.Done || last <= 0 || stopped != 1 {
		t.Errorf("%s: %v s of CPU time, stopped %d times: %s", o.Status, last, stopped, o.Error)
	}

	r, s = newRunner(t, counter{}, fake.Options{}, scene("broken", subjects(1, nil)))
	r.Beside = func(context.Context, *bench.Scene) ([]bench.Process, func(), error) {
		return nil, nil, errors.New("no such tool")
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if o := s.outcomes[0]; o.Status != bench.Failed || !strings.Contains(o.Error, "no such tool") {
		t.Errorf("%s: %s", o.Status, o.Error)
	}
}

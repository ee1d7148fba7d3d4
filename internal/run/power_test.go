package run

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/platform/fake"
)

// watt is a meter of the test's own; the real ones are tested with real peers
// (internal/meter/power).
type watt struct {
	name  string
	read  func(n int) (float64, error)
	count atomic.Int32
}

func (m *watt) Meter() string      { return "watt" }
func (m *watt) Level() bench.Level { return bench.Power }
func (m *watt) Columns() []string  { return []string{bench.ColPower} }
func (m *watt) Close() error       { return nil }
func (m *watt) Source() bench.PowerSource {
	return bench.PowerSource{Name: m.name, Every: 0.001} // asks for more than is allowed
}

func (m *watt) Read(values []float64) error {
	v, err := m.read(int(m.count.Add(1)))
	values[0] = v
	return err
}

// A meter that hangs, and one that fails, delay nothing and leave no reading; the
// machine rests before and after the block.
func TestPowerBesideATrial(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(1, nil)))
	r.Plan.Idle, r.Plan.Blocks = 200*time.Millisecond, 1
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	good := &watt{name: "good", read: func(n int) (float64, error) { return 100 + float64(n), nil }}
	bad := &watt{name: "bad", read: func(int) (float64, error) { return math.NaN(), errors.New("no answer") }}
	stuck := &watt{name: "stuck", read: func(int) (float64, error) { <-hang; return 1, nil }}
	r.Power = []bench.PowerReader{good, bad, stuck}
	began := clock.Now()
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := ran(s); !slices.Equal(got, []string{"b01-rest1", "b01-t01", "b01-rest2"}) {
		t.Fatalf("ran %q", got)
	}
	if most := (clock.Now()-began)/int64(bench.MinPowerInterval) + 1; int64(good.count.Load()) > most {
		t.Errorf("%d readings: more than ten a second", good.count.Load())
	}
	for _, o := range s.outcomes {
		if o.Status != bench.Done || o.Window[1] <= o.Window[0] {
			t.Errorf("%s is %s, window %v: %s", o.Trial, o.Status, o.Window, o.Error)
		}
		within, last := 0, int64(0)
		for _, x := range s.samples[o.Trial] {
			if x.At < last {
				t.Errorf("%s: samples are not in order", o.Trial)
			}
			last = x.At
			if x.Level != bench.Power {
				continue
			}
			if x.Meter != "good" || x.Values[bench.ColPower] <= 100 {
				t.Errorf("%s: a reading %+v", o.Trial, x)
			}
			if x.At >= o.Origin {
				within++
			}
		}
		if within == 0 {
			t.Errorf("%s: no reading", o.Trial)
		}
		warnings := strings.Join(o.Warnings, "; ")
		if !strings.Contains(warnings, "power meter bad told nothing") || strings.Contains(warnings, "meter good") {
			t.Errorf("%s warns %q", o.Trial, warnings)
		}
		if rest := o.Scene == bench.IdleScene; rest && (len(o.Actors) > 0 || !strings.Contains(warnings, "power meter stuck told nothing while the trial ran")) {
			t.Errorf("%s: %d actors, %q", o.Trial, len(o.Actors), warnings)
		}
	}
}

// Counters alone are waited for after a window, gauges may be far away.
func TestWhoIsWaitedFor(t *testing.T) {
	c := &powerWatch{columns: []string{bench.ColEnergy}, readings: []bench.Sample{{At: 5}, {At: 9}}}
	if !c.counts() || !c.readAt(9) || c.readAt(10) || (&powerWatch{columns: c.columns}).readAt(0) {
		t.Error("a counter whose last reading began at 9 is taken for another")
	}
	if g := (&powerWatch{columns: []string{bench.ColPower}}); g.counts() {
		t.Error("a meter of watts is waited for")
	}
}

// A start-up is read too, from before its launch.
func TestPowerOfAStartUp(t *testing.T) {
	r, s, _ := blocked(t, nil)
	r.Power = []bench.PowerReader{&watt{name: "good", read: func(int) (float64, error) { return 100, nil }}}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, o := range s.outcomes {
		if o.Scene == bench.IdleScene {
			t.Errorf("a rest of a plan without")
		}
		read += len(s.samples[o.Trial])
	}
	if read == 0 {
		t.Error("no reading in six launches")
	}
}

// A resumed run rests where it has not, around blocks of which something is left.
func TestRestsOfAResumedRun(t *testing.T) {
	r, s, _ := blocked(t, nil)
	r.Plan.Idle, r.Plan.Blocks = 50*time.Millisecond, 3
	r.Power = []bench.PowerReader{&watt{name: "good", read: func(int) (float64, error) { return 100, nil }}}
	finished := map[string]bool{"b01-rest1": true, "b01-a": true, "b01-b": true, "b01-rest2": true, "b02-rest1": true, "b02-a": true}
	if err := r.Run(t.Context(), finished); err != nil {
		t.Fatal(err)
	}
	if got, want := ran(s), []string{"b02-b", "b02-rest2", "b03-rest1", "b03-a", "b03-b", "b03-rest2"}; !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

// Conditions are set before a launch and put back after the close, whatever
// became of the trial; where they cannot be set nothing is launched.
func TestConditionsAroundATrial(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		fail   error
		status bench.Status
		phase  string
	}{
		"done":          {"echo 7", nil, bench.Done, ""},
		"failed":        {"exit 3", nil, bench.Failed, "measure"},
		"cannot be set": {"echo 7", errors.New("somebody else sets it"), bench.Failed, "setup"},
	} {
		sc := scene("a", subjects(1, bench.Params{"script": c.script}))
		sc.Conditions = map[string]string{"governor": "performance"}
		r, s := newRunner(t, counter{}, fake.Options{}, sc)
		set, restored := 0, 0
		r.Conditions = func(wanted map[string]string) (func() error, error) {
			if wanted["governor"] != "performance" {
				t.Errorf("%s: asked for %v", name, wanted)
			}
			if c.fail != nil {
				return nil, c.fail
			}
			set++
			return func() error { restored++; return nil }, nil
		}
		if err := r.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		o := s.outcomes[0]
		if o.Status != c.status || o.Phase != c.phase || set != restored || (set == 1) != (c.fail == nil) {
			t.Errorf("%s: %s in %q: %s; set %d times, put back %d times", name, o.Status, o.Phase, o.Error, set, restored)
		}
	}
}

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// disturbedRunner is a runner of start-ups of "a" and "b" in two blocks. Work says how many CPUs
// others hold while each trial's first, second, ... launch is awaited.
func disturbedRunner(t *testing.T, repeats int, work map[string][]float64) (*Runner, *sink) {
	t.Helper()
	r, s, _ := blocked(t, nil)
	r.Plan.Trials = r.Plan.Trials[:4]
	r.Plan.Blocks = 2
	r.Plan.Disturbed = &bench.Disturbance{Above: 0.3, Repeats: repeats}
	launches := map[string]int{}
	now := "" // the trial whose launch is awaited
	r.Notify = func(e Event) {
		if e.Phase == "setup" {
			now = e.Trial.ID
		}
	}
	r.OtherWork = func() (bench.OtherWork, error) {
		now := take(&now)
		if now == "" {
			return bench.OtherWork{}, nil
		}
		n := launches[now]
		launches[now]++
		if held := work[now]; n < len(held) {
			return bench.OtherWork{CPUs: held[n], Most: "cc1"}, nil
		}
		return bench.OtherWork{}, nil
	}
	return r, s
}

// take returns a text and leaves none.
func take(text *string) string {
	t := *text
	*text = ""
	return t
}

// attempts are the outcomes in the order they were stored.
func attempts(s *sink) []string {
	var ids []string
	for _, o := range s.outcomes {
		id := strings.TrimPrefix(o.Trial, "b0")
		if o.Repeat > 0 {
			id += fmt.Sprintf(" again %d", o.Repeat)
		}
		if o.Disturbed != "" {
			id += " disturbed"
		}
		ids = append(ids, id)
	}
	return ids
}

func TestDisturbedLaunchesAreRepeatedAtTheEndOfTheirBlock(t *testing.T) {
	for name, c := range map[string]struct {
		repeats int
		work    map[string][]float64
		want    []string
	}{
		"quiet":               {1, nil, []string{"1-a", "1-b", "2-a", "2-b"}},
		"below the bound":     {1, map[string][]float64{"b01-a": {0.3}}, []string{"1-a", "1-b", "2-a", "2-b"}},
		"once":                {1, map[string][]float64{"b01-a": {0.8}}, []string{"1-a disturbed", "1-b", "1-a again 1", "2-a", "2-b"}},
		"not repeated":        {0, map[string][]float64{"b01-a": {0.8}}, []string{"1-a disturbed", "1-b", "2-a", "2-b"}},
		"disturbed again":     {1, map[string][]float64{"b02-b": {0.8, 0.9}}, []string{"1-a", "1-b", "2-a", "2-b disturbed", "2-b again 1 disturbed"}},
		"twice":               {2, map[string][]float64{"b01-a": {1, 1}}, []string{"1-a disturbed", "1-b", "1-a again 1 disturbed", "1-a again 2", "2-a", "2-b"}},
		"in the plan's order": {1, map[string][]float64{"b01-a": {1}, "b01-b": {1}}, []string{"1-a disturbed", "1-b disturbed", "1-a again 1", "1-b again 1", "2-a", "2-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := disturbedRunner(t, c.repeats, c.work)
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got := attempts(s); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			for _, o := range s.outcomes {
				if o.Status != bench.Done || o.Outside == nil {
					t.Errorf("%s: %s, %+v", o.Trial, o.Status, o.Outside)
				}
			}
		})
	}
}

// What fails beside other work has a reason of its own; only what gave values is repeated.
func TestAFailedLaunchIsNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []bench.Status
	}{
		"exits non-zero":    {"exit 3", []bench.Status{bench.Failed}},
		"does not parse":    {"echo seven", []bench.Status{bench.Failed}},
		"gives its value":   {"echo 7", []bench.Status{bench.Done, bench.Done}},
		"fails when it had": {"test -e ran || { touch ran; echo 7; exit; }; exit 3", []bench.Status{bench.Done, bench.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newRunner(t, counter{}, fake.Options{}, scene("c", subjects(1, bench.Params{"script": "cd " + t.TempDir() + "; " + c.script})))
			r.Plan.Disturbed = &bench.Disturbance{Above: 0.3, Repeats: 3}
			launches := 0
			r.Notify = func(e Event) {
				if e.Phase == "setup" {
					launches++
				}
			}
			r.OtherWork = func() (bench.OtherWork, error) {
				if launches < 2 {
					return bench.OtherWork{CPUs: 1, Most: "cc1"}, nil
				}
				return bench.OtherWork{}, nil
			}
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			var got []bench.Status
			for _, o := range s.outcomes {
				got = append(got, o.Status)
			}
			if !slices.Equal(got, c.want) || s.outcomes[0].Disturbed == "" {
				t.Errorf("%q, want %q; %+v", got, c.want, s.outcomes[0])
			}
		})
	}
}

// A run that is stopped at any outcome and resumed launches what the one that is not does.
func TestAResumedRunRepeatsTheSame(t *testing.T) {
	work := map[string][]float64{"b01-a": {1, 1}, "b01-b": {1}}
	r, whole := disturbedRunner(t, 2, work)
	r.Plan.Trials = r.Plan.Trials[:2]
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for stopped := range whole.outcomes {
		done := whole.outcomes[:stopped]
		left := map[string][]float64{}
		finished := map[string]bool{}
		for id, w := range work {
			left[id] = w
		}
		for i := range done {
			o := &done[i]
			finished[o.Trial] = r.Plan.Settled(o)
			left[o.Trial] = left[o.Trial][min(1, len(left[o.Trial])):]
		}
		resumed, s := disturbedRunner(t, 2, left)
		resumed.Plan.Trials = r.Plan.Trials
		resumed.Before = outcomesOf(done, nil)
		if err := resumed.Run(t.Context(), finished); err != nil {
			t.Fatal(err)
		}
		if got, want := attempts(s), attempts(whole)[stopped:]; !slices.Equal(got, want) {
			t.Errorf("stopped after %d: %q, want %q", stopped, got, want)
		}
	}
}

// The rule is asked about a block once its repeats are stored.
func TestRepeatsComeBeforeTheLook(t *testing.T) {
	r, s := disturbedRunner(t, 1, map[string][]float64{"b01-a": {1}})
	var seen []int
	r.Rule = &scripted{look: func() { seen = append(seen, len(s.outcomes)) }}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []int{3, 3, 5, 5}; !slices.Equal(seen, want) {
		t.Errorf("outcomes at the looks: %v, want %v", seen, want)
	}
}

// A block that is cut short repeats what of it was disturbed.
func TestRepeatsComeBeforeTheEnd(t *testing.T) {
	r, s := disturbedRunner(t, 1, map[string][]float64{"b01-a": {1}})
	r.Rule = &scripted{overAt: 1}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := ran(s); !slices.Equal(got, []string{"b01-a", "b01-a"}) {
		t.Errorf("ran %v", got)
	}
}

// Other work while a program is measured counts; while a launch is, it may be the host's own for the platform.
func TestOtherWorkDuringTheMeasurement(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("c", subjects(1, nil)))
	r.Plan.Disturbed = &bench.Disturbance{Above: 0.3}
	n := 0
	r.OtherWork = func() (bench.OtherWork, error) {
		n++
		return bench.OtherWork{CPUs: []float64{9, 0.1, 0.2, 9}[n-1], Stolen: []float64{0, 0.1, 0.2, 0}[n-1]}, nil
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if want := "other work held 0.20 CPUs, 0.20 stolen by the outer host since the launch; bound 0.3"; o.Disturbed != want || o.Outside.Before.CPUs != 0.1 {
		t.Errorf("%q, want %q; %+v", o.Disturbed, want, o.Outside)
	}
}

func TestQuietWait(t *testing.T) {
	r, s := disturbedRunner(t, 1, nil)
	r.QuietWait = 3 * time.Second
	var waits []string
	r.Notify = func(e Event) {
		if e.Waits != "" {
			waits = append(waits, e.Trial.ID)
		}
	}
	busy := 2 // looks at which others work
	asked := 0
	r.OtherWork = func() (bench.OtherWork, error) {
		if asked++; asked > 1 && busy > 0 && asked%2 == 1 { // every second one ends a look
			busy--
			return bench.OtherWork{CPUs: 1}, nil
		}
		return bench.OtherWork{}, nil
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"b01-a", "b01-a"}; !slices.Equal(waits, want) {
		t.Errorf("waited before %q, want %q", waits, want)
	}
	for i, o := range s.outcomes {
		if first := o.Trial == "b01-a" || o.Trial == "b02-a"; (o.Waited > 0) != first {
			t.Errorf("outcome %d, %s: waited %v s", i, o.Trial, o.Waited)
		}
	}
}

func TestQuietWaitIsInterrupted(t *testing.T) {
	r, s := disturbedRunner(t, 1, nil)
	r.QuietWait = time.Hour
	r.OtherWork = func() (bench.OtherWork, error) { return bench.OtherWork{CPUs: 1}, nil }
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	r.Notify = func(e Event) {
		if e.Waits != "" {
			cancel(stop)
		}
	}
	if err := r.Run(ctx, nil); !errors.Is(err, stop) || len(s.outcomes) > 0 {
		t.Errorf("%v, %d outcomes", err, len(s.outcomes))
	}
}

// Where the hypervisor below takes as much all the time, launches are repeated until that is known. A
// run that is stopped and resumed knows the same.
func TestUsualStealIsNotRepeated(t *testing.T) {
	robbed := func(trials []bench.Trial) (*Runner, *sink) {
		r, s := disturbedRunner(t, 2, nil)
		if trials != nil {
			r.Plan.Trials = trials
		}
		r.OtherWork = func() (bench.OtherWork, error) { return bench.OtherWork{Stolen: 0.5}, nil }
		return r, s
	}
	r, whole := robbed(nil)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"1-a disturbed", "1-b disturbed", "1-a again 1 disturbed", "1-b again 1 disturbed", "1-a again 2 disturbed", "1-b again 2 disturbed", "2-a", "2-b"}
	if got := attempts(whole); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for _, stopped := range []int{2, 5, 6} {
		finished := map[string]bool{}
		for i := range stopped {
			o := &whole.outcomes[i]
			finished[o.Trial] = r.Plan.Settled(o)
		}
		resumed, s := robbed(r.Plan.Trials)
		resumed.Before = outcomesOf(whole.outcomes[:stopped], nil)
		if err := resumed.Run(t.Context(), finished); err != nil {
			t.Fatal(err)
		}
		if got := attempts(s); !slices.Equal(got, want[stopped:]) {
			t.Errorf("stopped after %d: %q, want %q", stopped, got, want[stopped:])
		}
	}
}

// A host from which as much is taken all the time is as quiet as it gets.
func TestQuietWaitSparesUsualSteal(t *testing.T) {
	s := &surroundings{since: func() (bench.OtherWork, error) { return bench.OtherWork{Stolen: 0.5}, nil }}
	for range 6 {
		s.usual.Learn(&bench.Outcome{Outside: &bench.Outside{Before: bench.OtherWork{Stolen: 0.5}}})
	}
	if took, err := s.wait(t.Context(), time.Hour, func(what string) { t.Error(what) }); err != nil || took > time.Minute {
		t.Errorf("waited %v, %v", took, err)
	}
}

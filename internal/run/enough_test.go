package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// scripted is a rule that says what a test wants, and notes what it is asked.
type scripted struct {
	enoughAfter map[string]int
	overAt      int // the place of the first trial that is not run; 0 for none
	asked       []string
	learnt      []string
	look        func() // nil for nothing
}

func (r *scripted) Learn(o *bench.Outcome) { r.learnt = append(r.learnt, o.Trial) }

func (r *scripted) Enough(scene string, block int) bool {
	r.asked = append(r.asked, fmt.Sprintf("%s%d", scene, block))
	if r.look != nil {
		r.look()
	}
	return r.enoughAfter[scene] > 0 && block >= r.enoughAfter[scene]
}

func (r *scripted) Over(place int) bool { return r.overAt > 0 && place >= r.overAt }

// blocked is a runner of start-ups of the scenes "a" and "b" in three blocks,
// with what was asked at the end of each.
func blocked(t *testing.T, enoughAfter map[string]int) (*Runner, *sink, *scripted) {
	t.Helper()
	var scenes []bench.Scene
	for _, id := range []string{"a", "b"} {
		s := scene(id, subjects(1, nil))
		s.Kind, s.Actors[0].Workload = bench.Startup, ""
		s.Timing = bench.Timing{Deadline: 3 * time.Second}
		scenes = append(scenes, s)
	}
	r, s := newRunner(t, counter{}, fake.Options{}, scenes...)
	r.Plan.Trials = nil
	for b := 1; b <= 3; b++ {
		for _, id := range []string{"a", "b"} {
			r.Plan.Trials = append(r.Plan.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-%s", b, id), Block: b, Scene: id})
		}
	}
	rule := &scripted{enoughAfter: enoughAfter}
	r.Rule = rule
	return r, s, rule
}

func ran(s *sink) []string {
	var ids []string
	for _, o := range s.outcomes {
		ids = append(ids, o.Trial)
	}
	return ids
}

func TestASceneThatIsEnoughIsNotRunOn(t *testing.T) {
	r, s, rule := blocked(t, map[string]int{"a": 2})
	var ended []string
	r.Notify = func(e Event) {
		if e.Ended != "" {
			ended = append(ended, fmt.Sprintf("%s%d", e.Ended, e.Trial.Block))
		}
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := ran(s), []string{"b01-a", "b01-b", "b02-a", "b02-b", "b03-b"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	if want := []string{"a1", "b1", "a2", "b2", "b3"}; !slices.Equal(rule.asked, want) {
		t.Errorf("asked %v, want %v", rule.asked, want)
	}
	if want := []string{"a2"}; !slices.Equal(ended, want) {
		t.Errorf("ended %v, want %v", ended, want)
	}
}

// A resumed run asks at the end of the blocks that were finished before, too.
func TestEnoughIsAskedAgainAfterAResume(t *testing.T) {
	r, s, _ := blocked(t, map[string]int{"a": 2, "b": 2})
	finished := map[string]bool{"b01-a": true, "b01-b": true, "b02-a": true, "b02-b": true}
	if err := r.Run(t.Context(), finished); err != nil {
		t.Fatal(err)
	}
	if got := ran(s); len(got) > 0 {
		t.Errorf("ran %v, which is not needed", got)
	}
	delete(finished, "b02-b")
	if err := r.Run(t.Context(), finished); err != nil {
		t.Fatal(err)
	}
	if got, want := ran(s), []string{"b02-b"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

func TestABlockThatWasStoppedIsNotAskedAbout(t *testing.T) {
	r, _, rule := blocked(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r.Notify = func(e Event) {
		if e.Outcome != nil && e.Outcome.Trial == "b02-a" {
			cancel()
		}
	}
	if err := r.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if want := []string{"a1", "b1"}; !slices.Equal(rule.asked, want) {
		t.Errorf("asked %v, want %v", rule.asked, want)
	}
}

// A run that is over runs no further trial, and has told the rule of every one before.
func TestARunThatIsOverEnds(t *testing.T) {
	r, s, rule := blocked(t, nil)
	rule.overAt = 3
	if err := r.Run(t.Context(), map[string]bool{"b01-a": true}); err != nil {
		t.Fatal(err)
	}
	if got, want := ran(s), []string{"b01-b", "b02-a"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	if want := []string{"b01-b", "b02-a"}; !slices.Equal(rule.learnt, want) {
		t.Errorf("learnt of %v, want %v", rule.learnt, want)
	}
}

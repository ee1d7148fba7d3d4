package bench

import (
	"fmt"
	"iter"
	"slices"
	"testing"
)

func TestDisturbanceOf(t *testing.T) {
	for _, c := range []struct {
		around *Outside
		usual  Steal
		want   string
	}{
		{nil, Steal{}, ""},
		{&Outside{}, Steal{}, ""},
		{&Outside{Before: OtherWork{CPUs: 0.2, Stolen: 0.05}}, Steal{}, ""},
		{&Outside{Before: OtherWork{CPUs: 0.4, Most: "cc1"}}, Steal{}, "other work held 0.40 CPUs (cc1) before the launch; bound 0.3"},
		{&Outside{Before: OtherWork{CPUs: 0.25, Stolen: 0.25, Most: "cc1"}}, Steal{}, "other work held 0.25 CPUs (cc1), 0.25 stolen by the outer host before the launch; bound 0.3"},
		{&Outside{During: &OtherWork{Stolen: 0.5}}, Steal{}, "other work held 0.00 CPUs, 0.50 stolen by the outer host since the launch; bound 0.3"},
		{&Outside{Before: OtherWork{CPUs: 1, Most: "go"}, During: &OtherWork{CPUs: 2, Most: "ld"}},
			Steal{}, "other work held 1.00 CPUs (go) before the launch, and 2.00 CPUs (ld) since the launch; bound 0.3"},
		// What is usual in one stretch says nothing of the other, nor of processes.
		{&Outside{During: &OtherWork{Stolen: 0.75}}, Steal{During: 0.5}, ""},
		{&Outside{During: &OtherWork{Stolen: 0.75}}, Steal{Before: 0.5}, "other work held 0.00 CPUs, 0.75 stolen by the outer host since the launch; bound 0.3"},
		{&Outside{During: &OtherWork{Stolen: 0.9}}, Steal{During: 0.5}, "other work held 0.00 CPUs, 0.90 stolen by the outer host (usually 0.50) since the launch; bound 0.3"},
		{&Outside{Before: OtherWork{CPUs: 0.4, Most: "cc1"}}, Steal{Before: 0.5}, "other work held 0.40 CPUs (cc1) before the launch; bound 0.3"},
	} {
		if got := DefaultDisturbance.Of(c.around, c.usual); got != c.want {
			t.Errorf("%+v: %q, want %q", c.around, got, c.want)
		}
	}
}

func TestWhatIsRepeated(t *testing.T) {
	p := &Plan{Disturbed: &Disturbance{Above: 0.3, Repeats: 1}}
	for _, c := range []struct {
		o       Outcome
		repeats bool
		settled bool
	}{
		{Outcome{Status: Done}, false, true},
		{Outcome{Status: Done, Disturbed: "x"}, true, false},
		{Outcome{Status: Failed, Disturbed: "x"}, false, true},
		{Outcome{Status: Failed, Disturbed: "x", Repeat: 1}, false, true},
		{Outcome{Status: DidNotFinish, Disturbed: "x"}, true, false}, // a result
		{Outcome{Status: Overdue, Disturbed: "x"}, true, false},
		{Outcome{Status: Done, Disturbed: "x", Repeat: 1}, false, true},
		{Outcome{Status: Aborted, Disturbed: "x"}, false, false},
		{Outcome{Status: Failed, GivenUp: "lxc", Disturbed: "x"}, false, true},
	} {
		if p.Repeats(&c.o) != c.repeats || p.Settled(&c.o) != c.settled {
			t.Errorf("%+v: repeats %v, settled %v", c.o, p.Repeats(&c.o), p.Settled(&c.o))
		}
	}
	if (&Plan{}).Repeats(&Outcome{Status: Done, Disturbed: "x"}) {
		t.Error("a plan that declares nothing repeats")
	}
}

func TestCountingOutcomes(t *testing.T) {
	all := []*Outcome{{Trial: "a", Status: Done}, {Trial: "b", Status: Aborted}, {Trial: "b", Status: Done}, {Trial: "a", Status: Aborted, Repeat: 1},
		{Trial: "a", Status: Failed, Repeat: 1}, {Trial: "c", Status: Done}, {Trial: "c", Status: Aborted, Repeat: 1}}
	var outcomes iter.Seq2[*Outcome, error] = func(yield func(*Outcome, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
	last := map[string]*Outcome{}
	var got []string
	for o := range Counting(outcomes) {
		got = append(got, fmt.Sprint(o.Trial, o.Repeat, o.Status))
	}
	for _, o := range all {
		last[o.Trial] = Latest(last[o.Trial], o)
	}
	if want := []string{"b0aborted", "b0done", "a1aborted", "a1failed", "c0done"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if last["a"] != all[4] || last["b"] != all[2] || last["c"] != all[5] {
		t.Errorf("the latest: %+v", last)
	}
}

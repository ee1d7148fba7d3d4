package analysis

import (
	"slices"
	"testing"

	"tare/internal/bench"
)

// Launches that were repeated are counted, with what the heaviest of them had beside it. One of them
// failed: earlier versions repeated it.
func TestRepeatedLaunchesAreCounted(t *testing.T) {
	p := &bench.Plan{Disturbed: &bench.Disturbance{Above: 0.3, Repeats: 2}}
	outcome := func(trial string, repeat int, cpus float64, status bench.Status) *bench.Outcome {
		o := &bench.Outcome{Trial: trial, Repeat: repeat, Status: status, Outside: &bench.Outside{Before: bench.OtherWork{CPUs: cpus, Most: "cc1"}}}
		o.Disturbed = p.Disturbed.Of(o.Outside, bench.Steal{})
		return o
	}
	all := []*bench.Outcome{
		outcome("a", 0, 0.5, bench.Done), outcome("b", 0, 0, bench.Done), outcome("c", 0, 0.9, bench.Failed),
		outcome("a", 1, 0.7, bench.Done), outcome("c", 1, 0, bench.Aborted), outcome("c", 1, 0, bench.Done), outcome("a", 2, 0.8, bench.Done),
	}
	all[1].Waited = 12
	last := map[string]*bench.Outcome{}
	var d disturbed
	for _, o := range all {
		d.take(o, p)
		last[o.Trial] = bench.Latest(last[o.Trial], o)
	}
	if d.n != 3 {
		t.Errorf("%+v", d)
	}
	l := launches{asked: []launch{{outcome: last["a"]}, {outcome: last["b"]}, {outcome: last["c"]}, {}}}
	if repeated, still := l.disturbed(); repeated != 2 || still != 1 {
		t.Errorf("%d trials repeated, %d disturbed", repeated, still)
	}
	var w warnings
	w.ofDisturbed(&d, l.asked)
	if want := []string{
		"3 launches were repeated, the last of each trial counts: other work held 0.90 CPUs (cc1) before the launch; bound 0.3",
		"1 of 3 launches count although other work held the host",
		"the run waited 12 s in all for other work on the host to end",
	}; !slices.Equal(w, want) {
		t.Errorf("%q", w)
	}
}

// Launches beside which the outer host took what it usually does are counted, of what is within the
// declared repeats.
func TestLaunchesThatUsualStealSparesAreCounted(t *testing.T) {
	p := &bench.Plan{Disturbed: &bench.Disturbance{Above: 0.3, Repeats: 1}}
	outcome := func(stolen, since float64, repeat int, disturbed string) *bench.Outcome {
		return &bench.Outcome{Trial: "a", Status: bench.Done, Repeat: repeat, Disturbed: disturbed,
			Outside: &bench.Outside{Before: bench.OtherWork{Stolen: stolen}, During: &bench.OtherWork{Stolen: since}}}
	}
	var d disturbed
	for _, o := range []*bench.Outcome{outcome(0.5, 0.1, 0, "x"), outcome(0.6, 0, 1, ""), outcome(0.1, 0.62, 0, ""), outcome(0.2, 0.2, 0, ""), {Trial: "b", Status: bench.Done}} {
		d.take(o, p)
	}
	var w warnings
	if w.ofDisturbed(&d, nil); !slices.Contains(w, "1 launch was not repeated although the outer host took up to 0.62 CPUs: it usually does in this run") {
		t.Errorf("%q", w)
	}
	var none disturbed
	none.take(outcome(0.5, 0.5, 0, ""), &bench.Plan{})
	if none.spared != 0 {
		t.Errorf("a plan that declares nothing: %+v", none)
	}
}

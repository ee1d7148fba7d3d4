package bench

import (
	"math/rand/v2"
	"testing"
)

// judged judges launches of a block's trials as a run does: each is repeated as often as declared, at
// the end of the block. Stolen is what the hypervisor takes beside a launch of a scene. It returns the
// outcomes in their order and how many were repeated.
func judged(d Disturbance, scenes []string, blocks int, stolen func(scene string, launch int) float64) (all []*Outcome, repeats int) {
	var u UsualSteal
	p := &Plan{Disturbed: &d}
	launch := func(scene string, block, repeat int) *Outcome {
		w := OtherWork{Stolen: stolen(scene, len(all))}
		o := &Outcome{Trial: scene, Block: block, Scene: scene, Status: Done, Repeat: repeat, Outside: &Outside{During: &w}}
		o.Disturbed = d.Of(o.Outside, u.Of(scene))
		u.Learn(o)
		all = append(all, o)
		return o
	}
	for block := range blocks {
		var due []*Outcome
		for _, scene := range scenes {
			if o := launch(scene, block, 0); p.Repeats(o) {
				due = append(due, o)
			}
		}
		for len(due) > 0 {
			o := launch(due[0].Scene, block, due[0].Repeat+1)
			repeats++
			if due = due[1:]; p.Repeats(o) {
				due = append(due, o)
			}
		}
	}
	return all, repeats
}

// Where the hypervisor takes as much all the time, launches are repeated until that is known, and no
// more: however many blocks there are, and however often a launch may be repeated.
func TestConstantStealIsNotRepeatedForEver(t *testing.T) {
	even := func(string, int) float64 { return 0.5 }
	uneven := func(scene string, _ int) float64 { // follows what the platform asks for
		return map[string]float64{"a": 0.05, "b": 0.5, "c": 1.2, "d": 0.1}[scene]
	}
	r := rand.New(rand.NewPCG(1, 12))
	noisy := func(string, int) float64 { return 0.5 + 0.2*(r.Float64()-0.5) }
	for name, c := range map[string]struct {
		scenes  []string
		repeats int
		stolen  func(string, int) float64
		most    int
	}{
		"one platform":        {[]string{"a"}, 1, even, usualOfScene},
		"two platforms":       {[]string{"a", "b"}, 1, even, usualOfRun},
		"many platforms":      {[]string{"a", "b", "c", "d", "e", "f", "g", "h"}, 1, even, usualOfRun},
		"repeated often":      {[]string{"a", "b"}, 10, even, usualOfRun},
		"noisy":               {[]string{"a", "b", "c", "d"}, 1, noisy, usualOfRun},
		"each its own":        {[]string{"a", "b", "c", "d"}, 1, uneven, 2 * usualOfScene},
		"each its own, often": {[]string{"a", "b", "c", "d"}, 10, uneven, 2 * usualOfScene},
	} {
		if _, repeats := judged(Disturbance{Above: 0.3, Repeats: c.repeats}, c.scenes, 50, c.stolen); repeats == 0 || repeats > c.most {
			t.Errorf("%s: %d launches repeated, want 1 to %d", name, repeats, c.most)
		}
	}
}

// A burst is told from what is usual, on a host with steal as on one without, and so is one that meets
// the first launches.
func TestABurstOfStealIsRepeated(t *testing.T) {
	scenes := []string{"a", "b", "c", "d"}
	for _, usually := range []float64{0, 0.5} {
		burst := func(_ string, launch int) float64 {
			if launch >= 60 && launch < 64 {
				return usually + 0.4
			}
			return usually
		}
		all, _ := judged(DefaultDisturbance, scenes, 30, burst)
		for i, o := range all[20:] {
			if (o.Disturbed != "") != (i+20 >= 60 && i+20 < 64) {
				t.Errorf("usually %g: launch %d: %q", usually, i+20, o.Disturbed)
			}
		}
	}
	first := func(_ string, launch int) float64 {
		if launch < 2 {
			return 0.5
		}
		return 0
	}
	if all, repeats := judged(DefaultDisturbance, scenes, 3, first); repeats != 2 || all[0].Disturbed == "" || all[4].Scene != "a" || all[4].Disturbed != "" {
		t.Errorf("a burst at the beginning: %d launches repeated", repeats)
	}
}

// What is usual follows from the outcomes alone: judged anew after any of them, the rest is judged alike,
// whatever became of the launches.
func TestUsualStealFollowsFromOutcomes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 12))
	all, _ := judged(DefaultDisturbance, []string{"a", "b", "c"}, 12, func(string, int) float64 { return r.ExpFloat64() })
	for from := range all {
		var u UsualSteal
		for _, o := range all[:from] {
			u.Learn(&Outcome{Trial: o.Trial, Scene: o.Scene, Status: Failed, Outside: o.Outside})
		}
		for i, o := range all[from:] {
			if got := DefaultDisturbance.Of(o.Outside, u.Of(o.Scene)); got != o.Disturbed {
				t.Fatalf("resumed after %d, outcome %d: %q, want %q", from, from+i, got, o.Disturbed)
			}
			u.Learn(o)
		}
	}
}

func TestUsualSteal(t *testing.T) {
	var u UsualSteal
	learn := func(scene string, before float64, during ...float64) {
		o := &Outcome{Scene: scene, Outside: &Outside{Before: OtherWork{Stolen: before}}}
		for _, v := range during {
			o.Outside.During = &OtherWork{Stolen: v}
		}
		u.Learn(o)
	}
	u.Learn(&Outcome{Scene: "a"}) // it was not looked for
	for i, stolen := range []float64{9, 1, 3, 2} {
		if got := u.Of("a"); i < usualOfScene && got != (Steal{}) {
			t.Errorf("after %d: %+v", i, got)
		}
		learn("a", stolen, stolen/10)
	}
	if got := u.Of("a"); got != (Steal{2.5, 0.25}) {
		t.Errorf("of the scene: %+v", got)
	}
	if got := u.Of("b"); got != (Steal{}) {
		t.Errorf("of another, after few: %+v", got)
	}
	learn("b", 4)
	learn("b", 5)
	if got := u.Of("b"); got != (Steal{Before: 3.5}) { // four launches have a measurement
		t.Errorf("of the run: %+v", got)
	}
	if u.Run() != u.Of("b") {
		t.Errorf("%+v", u.Run())
	}
}

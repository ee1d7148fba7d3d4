package session

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/run"
)

// After a look it is said what needs no more, what goes on, and what is used of the budget.
func TestStanding(t *testing.T) {
	p := &bench.Plan{Baseline: "native", Blocks: 9, Until: &bench.Until{Min: 3, Max: 9, Budget: time.Minute}}
	for _, c := range []string{"cpu", "disk"} {
		for _, name := range []string{"native", "a", "b", "c"} {
			p.Scenes = append(p.Scenes, bench.Scene{ID: c + "/" + name, Case: c, Platform: bench.PlatformRef{Name: name}})
		}
	}
	p.Scenes = append(p.Scenes, bench.Scene{ID: "cpu/native[as=control]", Case: "cpu", Control: true, Platform: bench.PlatformRef{Name: "native"}},
		bench.Scene{ID: "beside/native", Case: "beside", Relative: &bench.Relative{To: "cpu"}, Platform: bench.PlatformRef{Name: "native"}})
	g := NewTally(p, 0, 13*time.Second)
	if got := g.Standing(2); got != "" {
		t.Errorf("before the first look: %q", got)
	}
	want := "block 3: 0 of 7 need no more; going on: cpu/a, cpu/b, cpu/c, disk/a, 3 more; 13s of 1m0s used"
	if got := g.Standing(3); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, id := range []string{"cpu/a", "cpu/b", "cpu/c", "disk/a"} {
		g.Take(run.Event{Ended: id, Trial: bench.Trial{Block: 4}})
	}
	p.Trials = []bench.Trial{{Block: 3, Scene: "cpu/a"}, {Block: 4, Scene: "disk/b"}, {Block: 5, Scene: "cpu/a"}}
	for block, want := range map[int]bool{3: false, 4: false} {
		if got := NewTally(p, 0, 0).Through(block); got != want {
			t.Errorf("through block %d: %v", block, got)
		}
	}
	if g := NewTally(p, 1, 0); !g.Through(3) || g.Through(4) { // the first trial has its outcome
		t.Error("through a block with a trial left, or not through one without")
	}
	if g := NewTally(p, 2, 0); !g.Through(4) || g.Through(5) {
		t.Error("a block of trials that are needed is over")
	} else if g.Take(run.Event{Ended: "cpu/a", Trial: bench.Trial{Block: 4}}); !g.Through(5) {
		t.Error("a trial that is not needed is waited for")
	}
	p.Until.Budget = 0
	if got, want := g.Standing(4), "block 4: 4 of 7 need no more; going on: disk/b, disk/c, beside/native"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := NewTally(&bench.Plan{Blocks: 3}, 0, 0).Standing(3); got != "" {
		t.Errorf("without a rule: %q", got)
	}
}

// What a stopping rule has ended is not waited for any more, and a ratio is said as soon
// as a block has both.
func TestTally(t *testing.T) {
	p := &bench.Plan{Baseline: "native", Blocks: 2, Until: &bench.Until{Min: 1, Max: 2},
		Metrics: map[string][]bench.Metric{"up": {{Name: "time_to_ready", Unit: "ms", Better: bench.LowerIsBetter, Headline: true}}}}
	for _, name := range []string{"native", "lxc"} {
		p.Scenes = append(p.Scenes, bench.Scene{ID: "up/" + name, Case: "up", Platform: bench.PlatformRef{Name: name}, Estimate: 10})
	}
	for block := 1; block <= 2; block++ {
		for _, s := range p.Scenes {
			p.Trials = append(p.Trials, bench.Trial{ID: s.ID + string(rune('0'+block)), Block: block, Scene: s.ID})
		}
	}
	g := NewTally(p, 0, 0)
	if g.Bound() != "≤" || g.Trials() != 4 || g.Left().Seconds() != 40 {
		t.Errorf("at first %s%d trials, %v left", g.Bound(), g.Trials(), g.Left())
	}
	p.Until.Budget = 25 * time.Second
	if g.Left().Seconds() != 25 {
		t.Errorf("with a budget %v left", g.Left())
	}
	if left := NewTally(p, 2, 20*time.Second).Left(); left.Seconds() != 5 {
		t.Errorf("of a budget of 25 s, 20 of which are spent, %v left", left)
	}
	if p.Until.Budget = 5 * time.Second; g.Left().Seconds() != 20 { // for the first block
		t.Errorf("with a short budget %v left", g.Left())
	}
	if g.Bound() != "≈" || g.Trials() != 2 {
		t.Errorf("with a short budget %s%d trials", g.Bound(), g.Trials())
	}
	if p.Until.Budget = time.Hour; g.Bound() != "≤" || g.Trials() != 4 {
		t.Errorf("with a long budget %s%d trials", g.Bound(), g.Trials())
	}
	p.Until.Budget = 0
	for i, v := range []float64{10000, 20000} {
		e := run.Event{Index: i, Trial: p.Trials[i], Scene: &p.Scenes[i]}
		if said := g.Take(e); said != "" {
			t.Errorf("at its begin trial %d says %q", i, said)
		}
		e.Outcome = &bench.Outcome{Status: bench.Done, Values: []bench.Value{{Metric: "time_to_ready", Value: v}}}
		if said := g.Take(e); said != "time_to_ready "+string(rune('1'+i))+"0\u202f000 ms" {
			t.Errorf("at its end trial %d says %q", i, said)
		}
	}
	if got := g.Effects(); len(got) != 1 || !strings.HasSuffix(got[0], "time_to_ready, lower is better: lxc 2.000x") {
		t.Errorf("%q", got)
	}
	for i, s := range p.Scenes {
		if g.Bound() != "≤" {
			t.Errorf("with %d scenes ended the bound is %q", i, g.Bound())
		}
		g.Take(run.Event{Ended: s.ID, Trial: p.Trials[i]})
	}
	if g.Bound() != "" || g.Trials() != 2 || g.Left() != 0 || g.Done != 2 || g.Failed != 0 {
		t.Errorf("in the end %s%d trials, %d done, %d failed, %v left", g.Bound(), g.Trials(), g.Done, g.Failed, g.Left())
	}
	held := run.Event{Index: 2, Trial: p.Trials[2], Scene: &p.Scenes[0], Again: true,
		Outcome: &bench.Outcome{Status: bench.DidNotFinish, Phase: "measure", Error: "no", Disturbed: "other work held 0.8 CPUs"}}
	if said := g.Take(held); said != "dnf in measure: no, to be repeated: other work held 0.8 CPUs" || g.Failed != 0 || g.Done != 2 {
		t.Errorf("%q, %d failed, %d done", said, g.Failed, g.Done)
	}
	e := run.Event{Index: 2, Trial: p.Trials[2], Scene: &p.Scenes[0], Outcome: &bench.Outcome{Status: bench.Failed, Phase: "launch", Error: "no\nmore"}}
	if said := g.Take(e); said != "failed in launch: no" || g.Failed != 1 {
		t.Errorf("%q, %d failed", said, g.Failed)
	}
}

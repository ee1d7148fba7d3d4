package selftest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"tare/internal/bench"
)

// Student's interval by hand: n = 4 has t = 3.182, n = 5 2.776.
func TestLaunches(t *testing.T) {
	for _, c := range []struct {
		least, groups int
		level, sd     float64
		want          int
	}{
		{3, 1, 0.95, 0, 3},
		{10, 2, 0.95, 0, 10},
		{3, 1, 0.95, math.Log1p(0.03) * 2 / 3.1825, 4},
		{3, 1, 0.95, math.Log1p(0.03) * 2 / 3.1823, 5},
		{3, 1, 0.95, math.Log1p(0.03) * math.Sqrt(5) / 2.7765, 5},
		{3, 1, 0.98, math.Log1p(0.03) * math.Sqrt(5) / 2.7765, 7},
		{3, 1, 0.95, 1e6, mostLaunches},
	} {
		if got := launches(c.least, 0.03, c.level, c.groups, c.sd); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Drift that all sides share is in the unpaired ways and not in the paired ones; what costs twice
// as much takes twice as long.
func TestRepeating(t *testing.T) {
	p := &bench.Plan{Baseline: "native", Blocks: 6, Metrics: map[string][]bench.Metric{}}
	native := bench.PlatformRef{Name: "native"}
	control := bench.PlatformRef{Name: "native", Options: map[string]string{bench.AliasOption: bench.ControlAlias}}
	for _, c := range []string{"disk", "disk" + TurnsSuffix} {
		p.Metrics[c] = []bench.Metric{{Name: "rate", Headline: true}}
		for _, ref := range []bench.PlatformRef{native, {Name: "lxc"}, control} {
			p.Scenes = append(p.Scenes, bench.Scene{ID: c + "/" + ref.String(), Case: c, Platform: ref, Control: ref.String() == control.String()})
		}
	}
	outcomes := func(yield func(*bench.Outcome, error) bool) {
		for b := 1; b <= 6; b++ {
			for i, s := range p.Scenes {
				drift, jitter, seconds := 1+0.2*float64(b), 1+0.03*float64((b*(i+3))%5-2), int64(2)
				if s.Case != "disk" {
					drift, jitter, seconds = 1, 1+0.001*float64((b*(i+3))%5-2), 4
				}
				o := &bench.Outcome{Trial: fmt.Sprintf("b%02d-t%02d", b, i), Block: b, Scene: s.ID, Status: bench.Done,
					Phases: []bench.Phase{{Name: "setup", Start: 0, End: seconds * 1e9}, {Name: "cooldown", Start: seconds * 1e9, End: seconds * 1e9}},
					Values: []bench.Value{{Metric: "rate", Value: 100 * drift * jitter}}}
				if !yield(o, nil) {
					return
				}
			}
		}
	}
	rows, err := Repeating(Ran{Plan: p, Outcomes: outcomes}, 0.03)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 {
		t.Fatalf("%+v", rows)
	}
	r := rows[0]
	if r.Tare != 3*(4+4) {
		t.Errorf("three blocks in turns, with the baseline's own trial: %v s", r.Tare)
	}
	if !(r.Tare < r.Blocks && r.Blocks < r.Phoronix && r.Phoronix == r.Hyperfine) {
		t.Errorf("%+v", r)
	}
	p.Scenes = slices.DeleteFunc(p.Scenes, func(s bench.Scene) bool { return s.Control })
	if _, err := Repeating(Ran{Plan: p, Outcomes: outcomes}, 0.03); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("without a control: %v", fmt.Sprint(err))
	}
}

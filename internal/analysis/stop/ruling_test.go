package stop

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// besides is a plan in which "busy" and "bomb" are set against "alone" on three platforms, looked at
// after 3, 5 and 8 blocks.
func besides(platforms ...string) *bench.Plan {
	p := &bench.Plan{Blocks: 8, Baseline: "native", Margin: 0.03, Metrics: map[string][]bench.Metric{},
		Until: &bench.Until{Interval: 0.03, Min: 3, Max: 8, Looks: []int{3, 5, 8}}}
	for _, name := range []string{"alone", "busy", "bomb"} {
		p.Metrics[name] = []bench.Metric{{Name: "throughput", Better: bench.HigherIsBetter, Headline: true}}
		for _, platform := range platforms {
			sc := bench.Scene{ID: name + "/" + platform, Case: name, Platform: bench.PlatformRef{Name: platform}, Estimate: 1}
			if name != "alone" {
				sc.Relative = &bench.Relative{To: "alone", Row: "CPU", Column: name}
			}
			p.Scenes = append(p.Scenes, sc)
		}
	}
	for b := 1; b <= p.Blocks; b++ {
		for _, s := range p.Scenes {
			p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-%s", b, s.ID), Block: b, Scene: s.ID})
		}
	}
	return p
}

// carried runs the plan as the runner does and returns the blocks run of each scene. After block
// killed it begins with a new watch that learns all outcomes anew. Of a value of NaN the
// launch did not finish.
func carried(p *bench.Plan, killed int, value func(scene string, block int) float64) (map[string]int, *Outcomes) {
	w, all := NewWatch(p), NewOutcomes(p)
	ran, enough := map[string]int{}, map[string]bool{}
	var stored []*bench.Outcome
	for i, t := range p.Trials {
		if !enough[t.Scene] {
			if w.Over(i) {
				break
			}
			o := lasting(t, time.Second, value(t.Scene, t.Block))
			if v := o.Values[0].Value; v != v {
				o.Status, o.Values = bench.DidNotFinish, nil
			}
			w.Learn(o)
			all.Add(o)
			stored = append(stored, o)
			ran[t.Scene]++
		}
		if i+1 < len(p.Trials) && p.Trials[i+1].Block == t.Block {
			continue
		}
		if t.Block == killed {
			w, enough = NewWatch(p), map[string]bool{}
			for _, o := range stored {
				w.Learn(o)
			}
			for b := 1; b < t.Block; b++ { // the blocks that are gone through again
				for _, s := range p.Scenes {
					enough[s.ID] = enough[s.ID] || w.Enough(s.ID, b)
				}
			}
		}
		for _, s := range p.Scenes {
			enough[s.ID] = enough[s.ID] || w.Enough(s.ID, t.Block)
		}
	}
	return ran, all
}

// shaken is calm but for one scene, whose value leaps.
func shaken(scene string) func(string, int) float64 {
	return func(s string, block int) float64 {
		v := 100 + 0.2*float64((block*len(s))%5)
		switch {
		case strings.HasPrefix(s, "busy"):
			v /= 2
		case strings.HasPrefix(s, "bomb"):
			v = math.NaN()
		}
		if s == scene {
			v *= []float64{1, 1.5, 0.7, 1.2, 0.8}[block%5]
		}
		return v
	}
}

// A platform ends with all that is set against its launches alone, when every cell and its ratio do.
// The bomb's cell, of which no launch finished, does not keep it. The run that was killed after any
// block ends where the one that was not does.
func TestCellsEndTogether(t *testing.T) {
	for _, c := range []struct {
		shaken      string
		lxc, native int
		why         string // of alone
	}{
		{"", 3, 3, "lxc ±"},
		{"busy/lxc", 8, 8, "neither decided nor within ±3 %: lxc busy ±"},
		{"alone/lxc", 8, 8, "neither decided nor within ±3 %: lxc ±"},
		{"busy/native", 3, 8, "neither decided nor within ±3 %: native busy ±"}, // the baseline's own cell
		{"bomb/lxc", 3, 3, "lxc bomb has no ratio after 3 blocks"},
	} {
		for killed := range 8 {
			p := besides("native", "lxc", "docker")
			ran, all := carried(p, killed, shaken(c.shaken))
			ends := Replay(p, all)
			for i := range p.Scenes {
				sc := &p.Scenes[i]
				want := map[string]int{"lxc": c.lxc, "docker": 3, "native": c.native}[sc.Platform.String()]
				if end, ended := ends.Of(sc); !ended || end != want || ran[sc.ID] != want {
					t.Errorf("%s leaps, killed after %d: %s ended after %d, %v; it ran %d, want %d", c.shaken, killed, sc.ID, end, ended, ran[sc.ID], want)
				}
			}
			if s := ends.Cases[0]; s.Case != "alone" || !strings.Contains(s.Why, c.why) || s.Settled != (c.lxc == 3 && c.native == 3) {
				t.Errorf("%s leaps: %+v", c.shaken, s)
			}
			if s := ends.Cases[1]; s.Case != "busy" || s.Why != "with alone, which it is set against" || s.Blocks != c.native {
				t.Errorf("%s leaps: %+v", c.shaken, s)
			}
		}
	}
}

// Where a cell is decided and not narrow, all of its platform is reported at the strict level,
// the baseline's cells too.
func TestADecidedCellTellsTheLevel(t *testing.T) {
	for _, platform := range []string{"lxc", "native"} {
		p := besides("native", "lxc")
		calm := shaken("")
		_, all := carried(p, 0, func(s string, block int) float64 {
			if s == "busy/"+platform {
				return 5 * []float64{1, 1.08, 1.15}[block%3]
			}
			return calm(s, block)
		})
		ends := Replay(p, all)
		for _, name := range []string{"alone", "busy"} {
			for _, of := range []string{"native", "lxc"} {
				want := map[bool]float64{true: 0.9975, false: 0.98}[of == platform]
				if level, blocks := ends.Level(name, of); level != want || blocks != 3 {
					t.Errorf("a cell of %s: %s of %s is at %g after %d, want %g after 3", platform, name, of, level, blocks, want)
				}
			}
		}
		if d := ends.Cases[0].Looks[0].Decided; len(d) != 1 || d[platform+" busy"] != "differs" {
			t.Errorf("%v", d)
		}
	}
}

// Cells of one row are decided together, as the report corrects them; so are a case's platforms.
func TestWhatIsDecidedTogether(t *testing.T) {
	p := besides("native", "lxc", "docker")
	for i := range p.Scenes {
		if sc := &p.Scenes[i]; sc.Case == "bomb" && sc.Platform.Name == "docker" {
			sc.Relative.Row = "memory"
		}
	}
	all := rulings(p)
	if len(all) != 1 || !slices.Equal(all[0].cases, []string{"alone", "busy", "bomb"}) {
		t.Fatalf("%+v", all)
	}
	for platform, want := range map[string]string{
		"native": "native busy 2, native bomb 2", "lxc": "lxc 2, lxc busy 2, lxc bomb 2", "docker": "docker 2, docker busy 1, docker bomb 1",
	} {
		var got []string
		for _, c := range comparisons(p, all[0], platform) {
			got = append(got, fmt.Sprintf("%s %d", c.name, c.family))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", platform, got, want)
		}
	}
}

func TestRulings(t *testing.T) {
	chain := func(to map[string]string, names ...string) *bench.Plan {
		p := &bench.Plan{}
		for _, name := range names {
			sc := bench.Scene{ID: name + "/x", Case: name}
			if to[name] != "" {
				sc.Relative = &bench.Relative{To: to[name]}
			}
			p.Scenes = append(p.Scenes, sc)
		}
		return p
	}
	for _, c := range []struct {
		p    *bench.Plan
		want string
	}{
		{chain(nil, "a", "b"), "[a] [b]"},
		{chain(map[string]string{"b": "a", "c": "b"}, "a", "b", "c", "d"), "[a b c] [d]"},
		{chain(map[string]string{"a": "c"}, "a", "b", "c"), "[c a] [b]"},
		{chain(map[string]string{"b": "gone"}, "a", "b"), "[a] [b]"},
		{chain(map[string]string{"a": "b", "b": "a"}, "a", "b"), "[a] [b]"}, // no plan of ours
		{chain(map[string]string{"a": "a"}, "a"), "[a]"},
	} {
		var got []string
		for _, f := range rulings(c.p) {
			got = append(got, fmt.Sprint(f.cases))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A knee, a peak and a case without a metric are asked for no ratio: they go on while there is time.
func TestWhatAsksForNoRatioGoesOn(t *testing.T) {
	for what, change := range map[string]func(p *bench.Plan, sc *bench.Scene){
		"a pool of CPUs": func(p *bench.Plan, sc *bench.Scene) { sc.Pool, sc.Factors = 2, map[string]string{"alike": "3"} },
		"a pool of memory": func(p *bench.Plan, sc *bench.Scene) {
			sc.MemoryPool, sc.Factors = 1, map[string]string{"memory_pool": "1"}
		},
		"a peak":    func(p *bench.Plan, sc *bench.Scene) { sc.Peak = &bench.Peak{} },
		"no metric": func(p *bench.Plan, sc *bench.Scene) { p.Metrics[sc.Case] = nil },
	} {
		for budget, want := range map[time.Duration]int{0: 8, 15 * time.Second: 4, time.Second: 3} {
			p := budgeted(budget)
			for i := range p.Scenes {
				if p.Scenes[i].Case == "disk" {
					change(p, &p.Scenes[i])
				}
			}
			ran, all := carried(p, 0, shaken(""))
			ends := Replay(p, all)
			end, ended := ends.Of(p.Scene("disk/lxc"))
			if !ended || end != want || ran["disk/native"] != want || ran["cpu/lxc"] != 3 {
				t.Errorf("%s, %v: ended after %d, %v; ran %v, want %d", what, budget, end, ended, ran, want)
			}
			if s := ends.Cases[1]; s.Settled || !strings.HasSuffix(s.Why, "; "+unasked) {
				t.Errorf("%s, %v: %+v", what, budget, s)
			}
		}
	}
}

package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// ordered makes up a run: cases on four platforms in random order, on a host whose speed wanders,
// and the logarithm of what a launch has besides from its turn.
func ordered(r *rand.Rand, cases, blocks int, besides func(platform, after string, place float64) float64) ([]result.Case, []launch) {
	platforms := []string{"native", "docker", "lxc", "kvm"}
	out := make([]result.Case, cases)
	var scenes []*bench.Scene
	for c := range out {
		for _, p := range platforms {
			out[c].Rows = append(out[c].Rows, result.Row{Platform: p, Metric: bench.Metric{Name: "n", Headline: true}})
			scenes = append(scenes, &bench.Scene{ID: fmt.Sprint(c, "/", p), Case: fmt.Sprint(c), Platform: bench.PlatformRef{Name: p}})
		}
	}
	var trials []launch
	host, before := 0.0, ""
	for b := 1; b <= blocks; b++ {
		for place, i := range r.Perm(len(scenes)) {
			host = 0.9*host + 0.01*r.NormFloat64()
			s := scenes[i]
			name := s.Platform.Name
			id := fmt.Sprintf("b%02d-t%03d", b, len(trials))
			trials = append(trials, launch{bench.Trial{ID: id, Block: b}, s, &bench.Outcome{Trial: id, Status: bench.Done}})
			x := host + 0.02*r.NormFloat64() + 0.1*float64(i%4) + besides(name, before, float64(place)/float64(len(scenes)-1))
			row := &out[i/4].Rows[i%4]
			row.Points = append(row.Points, result.Point{Block: b, Trial: id, Value: math.Exp(x)})
			before = name
		}
	}
	return out, trials
}

// warned counts the rows of a platform that have the warning.
func warned(cases []result.Case, platform, text string) (n int) {
	for _, c := range cases {
		for _, row := range c.Rows {
			for _, w := range row.Warnings {
				if row.Platform == platform && strings.Contains(w, text) {
					n++
				}
			}
		}
	}
	return n
}

// TestOrderIsFound: whatever follows kvm is 8 % faster, or what is late in its block 10 % slower.
func TestOrderIsFound(t *testing.T) {
	const runs = 40
	r := rand.New(rand.NewPCG(1, 2))
	carried, placed := 0, 0
	for range runs {
		cases, trials := ordered(r, 1, 20, func(platform, after string, _ float64) float64 {
			if platform == "docker" && after == "kvm" {
				return math.Log(1.08)
			}
			return 0
		})
		warnOfOrder(cases, trials)
		carried += min(1, warned(cases, "docker", "% after kvm"))
		cases, trials = ordered(r, 1, 20, func(platform, _ string, place float64) float64 {
			if platform == "docker" {
				return place * math.Log(0.9)
			}
			return 0
		})
		warnOfOrder(cases, trials)
		placed += min(1, warned(cases, "docker", "from the first place in a block to the last"))
	}
	t.Logf("of %d runs of 20 blocks, carry-over was found in %d, the place in %d", runs, carried, placed)
	if carried < runs*8/10 || placed < runs*8/10 {
		t.Errorf("of %d runs, carry-over was found in %d, the place in %d; want at least 80 %%", runs, carried, placed)
	}
}

// TestOrderAlarms: where order does not matter, at most 5 % of runs have a warning in any of their
// rows, on a host whose speed wanders.
func TestOrderAlarms(t *testing.T) {
	const runs = 200
	for _, c := range []struct{ cases, blocks int }{{1, 6}, {2, 8}, {1, 20}} {
		r := rand.New(rand.NewPCG(3, uint64(c.blocks)))
		alarms := 0
		for range runs {
			cases, trials := ordered(r, c.cases, c.blocks, func(string, string, float64) float64 { return 0 })
			warnOfOrder(cases, trials)
			for _, p := range []string{"native", "docker", "lxc", "kvm"} {
				if warned(cases, p, "the order of trials") > 0 {
					alarms++
					break
				}
			}
		}
		t.Logf("%d cases, %d blocks: %d alarms in %d runs", c.cases, c.blocks, alarms, runs)
		if most := 0.05*runs + 3*math.Sqrt(0.05*0.95*runs); float64(alarms) > most {
			t.Errorf("%d cases, %d blocks: %d alarms in %d runs, want at most %.0f", c.cases, c.blocks, alarms, runs, most)
		}
	}
}

func TestTurns(t *testing.T) {
	ran := func(id string, block int, platform string) launch {
		return launch{bench.Trial{ID: id, Block: block}, &bench.Scene{Platform: bench.PlatformRef{Name: platform}}, &bench.Outcome{}}
	}
	unrun, up := ran("d", 2, "kvm"), ran("e", 2, "kvm")
	unrun.outcome, up.outcome.GivenUp = nil, "kvm"
	turns := turnsOf([]launch{ran("a", 1, "native"), ran("b", 1, "lxc"), ran("c", 1, "docker"), unrun, up, ran("f", 2, "lxc")})
	want := map[string]turn{"a": {0, ""}, "b": {0.5, "native"}, "c": {1, "lxc"}, "f": {0, "docker"}}
	if len(turns) != len(want) {
		t.Errorf("%v", turns)
	}
	for id, w := range want {
		if turns[id] != w {
			t.Errorf("%s: %+v, want %+v", id, turns[id], w)
		}
	}
}

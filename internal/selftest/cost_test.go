package selftest

import (
	"errors"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/result"
)

// costRun is a plan of a case with meters on and off, and its outcomes; with
// says how many times the result of the launches with meters is the others'.
func costRun(blocks int, platforms []string, with func(platform string, block int) float64) (*bench.Plan, iter.Seq2[*bench.Outcome, error]) {
	p := &bench.Plan{Blocks: blocks, Metrics: map[string][]bench.Metric{"cpu": {{Name: "rate", Better: bench.HigherIsBetter, Headline: true}}}}
	var all []*bench.Outcome
	for _, name := range platforms {
		for _, as := range []string{"", Unmetered} {
			s := bench.Scene{Case: "cpu", Platform: ref(name, as), Unmetered: as != ""}
			s.ID = "cpu/" + s.Platform.String()
			p.Scenes = append(p.Scenes, s)
			for b := 1; b <= blocks; b++ {
				v := 100 * float64(1+b%3) // what a block shares
				if as == "" {
					v *= with(name, b)
				}
				all = append(all, &bench.Outcome{Trial: s.ID, Block: b, Scene: s.ID, Status: bench.Done, Unmetered: s.Unmetered,
					Values: []bench.Value{{Metric: "rate", Value: v}}})
			}
		}
	}
	return p, func(yield func(*bench.Outcome, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func noSamples(string, func(*bench.Sample) error) error { return nil }

func TestCostOnResults(t *testing.T) {
	wiggle := func(b int) float64 { return 0.002 * float64(b%5-2) }
	for name, c := range map[string]struct {
		with    func(platform string, block int) float64
		all     result.Verdict
		claimed Held
	}{
		"nothing": {func(_ string, b int) float64 { return 1 + wiggle(b) }, result.Equivalent, Yes},
		"much":    {func(_ string, b int) float64 { return 0.95 + wiggle(b) }, result.Differs, No},
		"noise":   {func(_ string, b int) float64 { return 1 + 30*wiggle(b) }, result.Inconclusive, Open},
		// One platform has a ratio of 1.03, the other of 1/1.03: the mean says nothing of either.
		"opposed": {func(p string, b int) float64 {
			if p == "lxc" {
				return 1.03 + wiggle(b)
			}
			return 1/1.03 + wiggle(b)
		}, result.Equivalent, No},
	} {
		p, outcomes := costRun(20, []string{"native", "lxc"}, c.with)
		cost, err := EvaluateCost(p, outcomes, noSamples)
		if err != nil {
			t.Fatal(err)
		}
		if len(cost.Effects) != 3 || cost.Effects[2].Platform != allPlatforms || cost.Effects[2].Verdict != c.all {
			t.Errorf("%s: %+v", name, cost.Effects)
		}
		f := cost.Finding(true)
		if f.Claims[0].Held != c.claimed || f.Complete || f.Size != 20 {
			t.Errorf("%s: %+v, complete %v, size %d", name, f.Claims[0], f.Complete, f.Size)
		}
		if name == "opposed" && (cost.Effects[0].Verdict != result.Differs || cost.Effects[1].Verdict != result.Differs) {
			t.Errorf("the platforms themselves are not told apart: %+v", cost.Effects)
		}
	}
}

// watchedTrials are launches of the case "watch" on docker, alone and with the
// tools, whose samples have known rates.
func watchedTrials(blocks int) (*bench.Plan, iter.Seq2[*bench.Outcome, error], SamplesOf) {
	p := &bench.Plan{Blocks: blocks, Metrics: map[string][]bench.Metric{WatchCase: {{Name: "rate", Headline: true}}}}
	const second = int64(time.Second)
	var all []*bench.Outcome
	for _, as := range []string{"", Tools} {
		s := bench.Scene{Case: WatchCase, Platform: ref(dockerName, as)}
		s.ID = WatchCase + "/" + s.Platform.String()
		p.Scenes = append(p.Scenes, s)
		for b := 1; b <= blocks; b++ {
			o := &bench.Outcome{Trial: s.Platform.String(), Block: b, Scene: s.ID, Status: bench.Done, Window: [2]int64{second / 2, 10*second + second/2}}
			for _, name := range []string{"one", "two"} {
				o.Actors = append(o.Actors, bench.ActorOutcome{Actor: name, Scope: &bench.Scope{
					Helpers: []bench.Process{{PID: 1, Part: "shim"}, {PID: 2, Part: "client"}},
					Shared:  []bench.Process{{PID: 3, Part: "daemon"}, {PID: 4, Part: "containerd"}}}})
			}
			all = append(all, o)
		}
	}
	samples := func(trial string, f func(*bench.Sample) error) error {
		tools := strings.Contains(trial, Tools)
		sample := func(at int64, level bench.Level, actor, meter string, cpu int64, values map[string]float64) error {
			return f(&bench.Sample{At: at, Level: level, Actor: actor, Meter: meter, CPU: cpu, Values: values})
		}
		var errs []error
		for i, at := range []int64{second / 2, second, 2 * second, 3 * second, 10*second + second/2} {
			s := float64(at) / 1e9
			burden := 0.0
			if i == 0 || i == 4 { // at the edges something else is done
				burden = 7
			}
			errs = append(errs, sample(at, bench.Host, "", "tasks", 10_000, map[string]float64{bench.ColObserver: 0.002*s + burden}))
			daemon := 0.001
			if tools {
				daemon = 0.006
				errs = append(errs, sample(at, bench.Host, "", bench.MeterBeside, 5_000,
					map[string]float64{bench.CPUOf(PartPidstat): 0.004 * s, bench.CPUOf(PartDockerStats): 0.003 * s}))
			}
			for _, name := range []string{"one", "two"} {
				errs = append(errs,
					sample(at, bench.Guest, name, "agent", 500_000, map[string]float64{bench.ColObserver: 0.0005 * s}),
					sample(at, bench.Layer, name, "helpers", 20_000, map[string]float64{
						bench.CPUOf("daemon"): daemon * s, bench.CPUOf("containerd"): 0, bench.CPUOf("shim"): daemon * s / 2, bench.CPUOf("client"): 9 * s}))
			}
		}
		return errors.Join(errs...)
	}
	return p, func(yield func(*bench.Outcome, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}, samples
}

func TestCostAgainstTools(t *testing.T) {
	p, outcomes, samples := watchedTrials(4)
	cost, err := EvaluateCost(p, outcomes, samples)
	if err != nil {
		t.Fatal(err)
	}
	c := cost.Tools
	if c == nil {
		t.Fatal("no comparison")
	}
	// Daemons: 6 ms a second and half of that for each of two shims, less 1 ms
	// and its shims; the daemons are counted once, the client of an instance not.
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-6*want }
	if !near(c.Tare, 0.2) || !near(c.Agents, 0.1) || !near(c.Pidstat, 0.4) || !near(c.DockerStats, 0.3) || !near(c.Daemons, 1.0) || c.Launches != 4 {
		t.Errorf("%+v", c)
	}
	if !near(c.Share, 0.3/1.7) || !near(c.High, 0.3/1.7) {
		t.Errorf("share %v (%v-%v), want %v", c.Share, c.Low, c.High, 0.3/1.7)
	}
	claims := cost.Finding(true).Claims
	if len(claims) != 1 || claims[0].Held != Yes {
		t.Errorf("%+v", claims)
	}
	for _, m := range cost.Meters {
		if m.Platform == "docker" && m.Meter == "agent" && (!near(m.Each, 500) || !near(m.Percent, 0.05) || m.Readings != 2*2*4) {
			t.Errorf("%+v", m)
		}
		if m.Platform == "docker" && m.Meter == "helpers" && (!near(m.Each, 20) || !near(m.Percent, 0.002)) {
			t.Errorf("%+v", m)
		}
	}
	if len(cost.Meters) != 3+4 {
		t.Errorf("%d meters: %+v", len(cost.Meters), cost.Meters)
	}
}

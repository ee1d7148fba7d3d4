package analysis

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
	"tare/internal/result/store"
)

// A crafted run has one case, "cpu", and per platform a value for each block;
// NaN is a failed launch, a missing one is left out.
type crafted struct {
	metric   bench.Metric
	platform []string // the first is the baseline
	label    map[string]string
	kind     map[string]bench.SceneKind // of the platform's scene; one if it is not there
	values   map[string][]float64
	blocks   int // planned
	samples  func(trial string) []bench.Sample
	edit     func(o *bench.Outcome)
	header   store.Header
	until    *bench.Until
	control  string // the platform that is the baseline once more
	turns    time.Duration
}

var throughput = bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true}
var latency = bench.Metric{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean}

func (c crafted) write(t *testing.T) *store.Run {
	t.Helper()
	p := &bench.Plan{Experiment: "e", Seed: 42, Blocks: c.blocks, Baseline: c.platform[0], Margin: 0.03, Until: c.until,
		Metrics: map[string][]bench.Metric{"cpu": {c.metric}}}
	if len(c.header.Power) > 0 {
		p.Idle = time.Second
	}
	for _, name := range c.platform {
		p.Scenes = append(p.Scenes, bench.Scene{ID: "cpu/" + name, Case: "cpu", Kind: cmp.Or(c.kind[name], bench.One), Platform: bench.PlatformRef{Name: name}, Control: name == c.control, Turns: c.turns,
			Timing: bench.Timing{Cooldown: time.Second},
			Actors: []bench.Actor{{Name: "subject", Role: bench.Subject, Workload: "sysbench-cpu", Platform: bench.PlatformRef{Name: name}, CPUSet: []int{1}}}})
	}
	for b := 1; b <= c.blocks; b++ {
		for _, name := range c.platform {
			p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-%s", b, name), Block: b, Scene: "cpu/" + name})
		}
	}
	dir := t.TempDir()
	c.header.Run = "r1"
	w, err := store.Create(dir, c.header, nil, p, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i, trial := range p.Trials {
		name := c.platform[i%len(c.platform)]
		if trial.Block > len(c.values[name]) {
			continue
		}
		v := c.values[name][trial.Block-1]
		o := &bench.Outcome{Trial: trial.ID, Block: trial.Block, Scene: trial.Scene, Status: bench.Done, Window: [2]int64{10e9, 20e9},
			Phases: []bench.Phase{{Name: "setup", Start: 0, End: 1e9}, {Name: "launch", Start: 1e9, End: 3e9}, {Name: "measure", Start: 3e9, End: 13e9}, {Name: "close", Start: 13e9, End: 14e9}},
			Values: []bench.Value{{Metric: c.metric.Name, Value: v}},
			Actors: []bench.ActorOutcome{{Actor: "subject", Role: bench.Subject, Platform: bench.PlatformRef{Name: name}, Version: "1", Label: c.label[name], Scope: &bench.Scope{}}}}
		if v != v {
			o.Status, o.Phase, o.Error, o.Hint, o.Values = bench.Failed, "launch", "no answer", "look", nil
			o.Actors[0].Log = "last words"
		}
		if c.edit != nil {
			c.edit(o)
		}
		var samples []bench.Sample
		if c.samples != nil {
			samples = c.samples(trial.ID)
		}
		if err := w.Append(context.Background(), o, samples, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, rest := range p.Idles() {
		o := &bench.Outcome{Trial: rest.ID, Block: rest.Block, Scene: rest.Scene, Status: bench.Done, Window: [2]int64{10e9, 20e9}}
		if err := w.Append(context.Background(), o, c.samples(rest.ID), nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func analyze(t *testing.T, r *store.Run) *result.Result {
	t.Helper()
	out, err := Analyze(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Cases {
		for _, e := range effectsOf(&c) {
			if e != nil && e.Words == "" {
				t.Errorf("%s: an effect is not said in words: %+v", c.Name, e)
			}
		}
	}
	return out
}

// effectsOf are those of all tables of a case, nil where a row has none.
func effectsOf(c *result.Case) (all []*result.Effect) {
	for _, r := range c.Rows {
		all = append(all, r.Effect)
	}
	for _, l := range c.Latency {
		for _, p := range l.Percentiles {
			all = append(all, p.Effect)
		}
	}
	for _, s := range c.Scheduling {
		for _, q := range s.Quantities {
			all = append(all, q.Effect, q.Alone)
		}
	}
	for _, e := range c.Energy {
		all = append(all, e.Effect)
	}
	return all
}

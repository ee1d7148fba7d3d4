package analysis

import (
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
	"tare/internal/result/store"
)

// paced are the two readings at the edges of a window of ten seconds, in which
// an actor was put on a CPU so often and ran and waited so long.
func paced(actor string, executions, ran, waited float64, further map[string]float64) []bench.Sample {
	first := map[string]float64{bench.ColSchedExecutions: 7, bench.ColSchedRun: 3, bench.ColSchedWait: 2}
	last := map[string]float64{bench.ColSchedExecutions: 7 + executions, bench.ColSchedRun: 3 + ran, bench.ColSchedWait: 2 + waited}
	for c, v := range further {
		first[c], last[c] = 1, 1+v
	}
	return []bench.Sample{
		{At: 10e9, Level: bench.Layer, Actor: actor, Meter: bench.MeterSched, Values: first},
		{At: 20e9, Level: bench.Layer, Actor: actor, Meter: bench.MeterSched, Values: last},
	}
}

var exited = map[string]float64{bench.ColSchedExits: 4}

func TestExecutionsAgainstTheBaseline(t *testing.T) {
	r := analyze(t, crafted{metric: throughput, platform: []string{"native", "kvm"}, blocks: 3,
		values: map[string][]float64{"native": {1, 1, 1}, "kvm": {1, 1, 1}},
		samples: func(trial string) []bench.Sample {
			if strings.HasSuffix(trial, "kvm") {
				return paced("subject", 40000, 2, 0.3, map[string]float64{bench.ColSchedExits: 0,
					bench.ColSchedVCPUExecutions: 10000, bench.ColSchedVCPURun: 1.5, bench.ColSchedVCPUWait: 0.1})
			}
			return paced("subject", 10000, 1, 0.1, exited)
		}}.write(t))
	rows := r.Cases[0].Scheduling
	if len(rows) != 2 || !rows[0].Baseline || rows[0].Platform != "native" || rows[1].Domain != "subject" || rows[1].N != 3 {
		t.Fatalf("%+v", rows)
	}
	if rows[0].Of(result.VCPU+result.Executions) != nil || rows[0].Of(result.Executions).Effect != nil || len(rows[0].Notes) != 0 {
		t.Errorf("the baseline's: %+v", rows[0])
	}
	for name, want := range map[string][2]float64{
		result.Executions: {4000, 4}, result.PerExecution: {50, 0.5}, result.Waited: {30, 3},
		result.VCPU + result.Executions: {1000, 0}, result.VCPU + result.PerExecution: {150, 0}, result.VCPU + result.Waited: {10, 0},
	} {
		q := rows[1].Of(name)
		if q == nil || math.Abs(q.Median-want[0]) > 1e-9 || len(q.Points) != 3 {
			t.Errorf("%s: %+v, want %v", name, q, want[0])
			continue
		}
		switch {
		case want[1] == 0 && q.Effect != nil:
			t.Errorf("%s is set against a baseline that has none: %+v", name, q.Effect)
		case want[1] != 0 && (math.Abs(q.Effect.Ratio-want[1]) > 1e-9 || q.Effect.Verdict != result.Differs || q.Effect.N != 3):
			t.Errorf("%s: %+v, want a ratio of %v", name, q.Effect, want[1])
		}
	}
	if n := len(r.Cases[0].SchedulingRows()); n != 9 {
		t.Errorf("%d rows for exports, want 9", n)
	}
}

// Figures that are bounds, that are missing and that cannot be had say so.
func TestExecutionsThatAreNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		samples []bench.Sample
		edit    func(*bench.Outcome)
		rows    int
		why     string // of the row
		note    string
	}{
		"a run without the meter": {},
		"ends not counted":        {samples: paced("subject", 10, 1, 0, nil), rows: 1, note: "lower bounds"},
		"Xen":                     {edit: func(o *bench.Outcome) { o.Actors[0].Scope.Domain = 2 }, rows: 1, why: "Xen counts no executions"},
		"lost":                    {samples: paced("subject", -3, 1, 0, exited), rows: 1, why: "went backwards"},
		"ran all the time":        {samples: paced("subject", 0, 10, 0, exited), rows: 1, note: "ran through the whole window"},
	} {
		t.Run(name, func(t *testing.T) {
			r := analyze(t, crafted{metric: throughput, platform: []string{"native"}, blocks: 3, values: map[string][]float64{"native": {1, 1, 1}},
				edit: c.edit, samples: func(string) []bench.Sample { return c.samples }}.write(t))
			rows := r.Cases[0].Scheduling
			if len(rows) != c.rows {
				t.Fatalf("%d rows, want %d", len(rows), c.rows)
			}
			if c.rows == 0 {
				return
			}
			if !strings.Contains(rows[0].Why, c.why) || (rows[0].Why == "") != (c.why == "") || !strings.Contains(strings.Join(rows[0].Notes, "; "), c.note) {
				t.Errorf("%+v, want %q and a note %q", rows[0], c.why, c.note)
			}
			if rows[0].Why == "" && rows[0].Of(result.Executions).Median == 0 && rows[0].Of(result.PerExecution) != nil {
				t.Error("there is a time for each of no executions")
			}
		})
	}
}

// A scene has a row for each domain, one for a crowd, and its subject is set against the same alone.
func TestDomainsOfAScene(t *testing.T) {
	native, docker := bench.PlatformRef{Name: "native"}, bench.PlatformRef{Name: "docker"}
	subject := bench.Actor{Name: "subject", Role: bench.Subject, Workload: "netperf", Platform: native}
	actors := []bench.Actor{subject, {Name: "peer", Role: bench.Peer, Serves: "subject", Platform: native},
		{Name: "neighbour", Role: bench.Neighbour, Workload: "stress", Platform: docker},
		{Name: "bomb", Role: bench.Neighbour, Platform: native, Containment: &bench.Containment{}}}
	for _, name := range []string{"idle", "idle-2", "idle-3", "idle-4", "idle-5"} {
		actors = append(actors, bench.Actor{Name: name, Role: bench.Idle, Platform: native})
	}
	p := &bench.Plan{Experiment: "e", Seed: 1, Blocks: 3, Baseline: "native", Margin: 0.03,
		Metrics: map[string][]bench.Metric{"alone": {throughput}, "beside": {throughput}},
		Scenes: []bench.Scene{
			{ID: "alone/native", Case: "alone", Kind: bench.One, Platform: native, Actors: actors[:2]},
			{ID: "beside/native", Case: "beside", Kind: bench.Beside, Platform: native, Actors: actors, Relative: &bench.Relative{To: "alone", Row: "r", Column: "c"}},
		}}
	for b := 1; b <= 3; b++ {
		for _, case_ := range []string{"alone", "beside"} {
			p.Trials = append(p.Trials, bench.Trial{ID: case_ + string(rune('0'+b)), Block: b, Scene: case_ + "/native"})
		}
	}
	dir := t.TempDir()
	w, err := store.Create(dir, store.Header{Run: "r1"}, nil, p, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, trial := range p.Trials {
		o := &bench.Outcome{Trial: trial.ID, Block: trial.Block, Scene: trial.Scene, Status: bench.Done, Window: [2]int64{10e9, 20e9},
			Phases: []bench.Phase{{Name: "measure", Start: 0, End: int64(time.Second)}}, Values: []bench.Value{{Metric: throughput.Name, Value: 1}}}
		var samples []bench.Sample
		for i, a := range p.Scene(trial.Scene).Actors {
			label := ""
			if a.Name == "neighbour" {
				label = "emulated (tcg)"
			}
			o.Actors = append(o.Actors, bench.ActorOutcome{Actor: a.Name, Role: a.Role, Platform: a.Platform, Version: "1", Label: label, Scope: &bench.Scope{}})
			executions := float64(1000 * (i + 1))
			if trial.Scene == "alone/native" {
				executions = 2000
			}
			samples = append(samples, paced(a.Name, executions, 1, 0, exited)...)
		}
		if err := w.Append(t.Context(), o, samples, nil); err != nil {
			t.Fatal(err)
		}
	}
	run, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := analyze(t, run).Cases[1].Scheduling
	if len(rows) != 3 {
		t.Fatalf("%d rows, want a subject's, a neighbour's and the idle ones': %+v", len(rows), rows)
	}
	s, n, i := rows[0], rows[1], rows[2]
	if q := s.Of(result.Executions); s.Domain != "subject" || q.Alone == nil || math.Abs(q.Alone.Ratio-0.5) > 1e-9 || q.Alone.Verdict != result.Differs {
		t.Errorf("the subject's: %+v", s)
	}
	if n.Domain != "neighbour" || n.On != "docker" || n.Label != "emulated (tcg)" || n.Of(result.Executions).Alone != nil || n.Of(result.Executions).Median != 300 {
		t.Errorf("the neighbour's: %+v", n)
	}
	// The five idle are the fifth to the ninth actor: 7000 executions in ten seconds on the mean.
	if i.Domain != "idle" || i.Domains != 5 || i.Of(result.Executions).Median != 700 || math.Abs(i.Of(result.PerExecution).Median-5/35000.0*1e6) > 1e-9 {
		t.Errorf("the idle ones': %+v", i)
	}
}

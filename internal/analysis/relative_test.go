package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
	"tare/internal/result/store"
)

// besides is a run of an experiment that sets "beside" and "bomb" against
// "alone" on two platforms. A value of NaN did not finish beside its neighbour,
// one of -1 failed for another reason, 0 has no outcome, and one that starved measured 0.
func besides(t *testing.T, m bench.Metric, values map[string][3]float64, edit func(*bench.Outcome)) *result.Result {
	t.Helper()
	return besidesUntil(t, nil, m, values, edit)
}

// besidesUntil is such a run under a stopping rule, of which the values are the first three blocks.
func besidesUntil(t *testing.T, until *bench.Until, m bench.Metric, values map[string][3]float64, edit func(*bench.Outcome)) *result.Result {
	t.Helper()
	p := &bench.Plan{Experiment: "e", Seed: 1, Blocks: 3, Baseline: "native", Margin: 0.03, Until: until,
		Metrics: map[string][]bench.Metric{"alone": {m}, "beside": {m}, "bomb": {m}}}
	for _, c := range []string{"alone", "beside", "bomb"} {
		for _, on := range []string{"native", "lxc"} {
			s := bench.Scene{ID: c + "/" + on, Case: c, Title: c, Kind: bench.Beside, Platform: bench.PlatformRef{Name: on},
				Actors: []bench.Actor{{Name: "subject", Role: bench.Subject, Workload: "sysbench-cpu"}}}
			if c != "alone" {
				s.Relative = &bench.Relative{To: "alone", Row: "CPU", Column: c}
				s.Actors = append(s.Actors, bench.Actor{Name: map[string]string{"beside": "subject-2", "bomb": "neighbour"}[c], Role: bench.Neighbour})
			}
			p.Scenes = append(p.Scenes, s)
		}
	}
	if until != nil {
		p.Blocks = until.Max
	}
	for b := range p.Blocks {
		for _, s := range p.Scenes {
			p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-%s-%s", b+1, s.Case, s.Platform), Block: b + 1, Scene: s.ID})
		}
	}
	dir := t.TempDir()
	w, err := store.Create(dir, store.Header{Run: "r1"}, nil, p, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, trial := range p.Trials {
		if trial.Block > 3 {
			continue
		}
		v := values[trial.Scene][trial.Block-1]
		if v == 0 {
			continue
		}
		o := &bench.Outcome{Trial: trial.ID, Block: trial.Block, Scene: trial.Scene, Status: bench.Done, Unmetered: true,
			Phases: []bench.Phase{{Name: "measure", End: 1e9}}, Values: []bench.Value{{Metric: m.Name, Value: v}},
			Actors: []bench.ActorOutcome{{Actor: "subject", Role: bench.Subject, Scope: &bench.Scope{}, Values: []bench.Value{{Metric: m.Name, Value: v}}}}}
		switch {
		case math.IsNaN(v):
			o.Status, o.Phase, o.Error = bench.DidNotFinish, "measure", "not through"
		case v < 0:
			o.Status, o.Phase, o.Error = bench.Failed, "launch", "no room"
		}
		if o.Status != bench.Done {
			o.Values, o.Actors[0].Values = nil, nil
		}
		if edit != nil {
			edit(o)
		}
		if math.IsInf(v, 1) {
			o.Values[0].Value, o.Actors[0].Values[0].Value = 0, 0
		}
		if err := w.Append(t.Context(), o, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Analyze(r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var (
	dnf     = math.NaN()
	starved = math.Inf(1)
)

func TestRelativeToAlone(t *testing.T) {
	r := besides(t, throughput, map[string][3]float64{
		"alone/native": {100, 1000, 10}, "beside/native": {50, 510, 4.9}, "bomb/native": {90, 880, 9.1},
		"alone/lxc": {80, 800, 8}, "beside/lxc": {20, 196, 2.02}, "bomb/lxc": {dnf, dnf, 4},
	}, nil)
	m := r.Relative
	if m == nil || !slices.Equal(m.Columns, []string{"beside", "bomb"}) || len(m.Rows) != 2 {
		t.Fatalf("%+v", m)
	}
	native, lxc := m.Rows[0], m.Rows[1]
	if !native.Baseline || lxc.Baseline || native.Row != "CPU" || native.Case != "alone" || native.Alone != 100 || native.N != 3 {
		t.Errorf("%+v", native)
	}
	// Within a platform, paired by block, whatever the drift between blocks.
	want, _ := stats.RatioInterval([]float64{0.5, 0.51, 0.49}, 0.95)
	c := native.Cells[0]
	approx(t, "kept", c.Kept, math.Pow(0.5*0.51*0.49, 1.0/3))
	approx(t, "low", c.Low, want.Low)
	approx(t, "high", c.High, want.High)
	if c.Words != "50 %" || c.Against != nil || c.N != 3 || c.Launches != 3 {
		t.Errorf("%+v", c)
	}
	// Platforms are compared by what they keep: 0.25, 0.245, 0.2525 by 0.5, 0.51, 0.49.
	ratio := math.Pow(0.25*0.245*0.2525/(0.5*0.51*0.49), 1.0/3)
	if a := lxc.Cells[0].Against; a.Verdict != result.Differs {
		t.Errorf("%+v", a)
	} else {
		approx(t, "against native", a.Ratio, ratio)
		if a.Words[:28] != "keeps 50.2 % less than nativ" {
			t.Error(a.Words)
		}
	}
	// Some did not finish: that is said, with how many, and no failure of the run.
	c = lxc.Cells[1]
	if c.DNF != 2 || c.N != 1 || c.Failed != 0 || c.Words != "50 %, DNF 2 of 3" || c.High != 0 || c.Effect.Verdict != result.Refused {
		t.Errorf("%+v", c)
	}
	if r.Trials.DNF != 2 || r.Trials.Failed != 0 || r.Trials.Missing != 0 || !r.Complete || len(r.Failures) != 0 || len(r.Unfinished) != 2 {
		t.Errorf("%+v, failures %v, unfinished %v", r.Trials, r.Failures, r.Unfinished)
	}
	for _, row := range r.Cases[2].Rows {
		if row.Platform == "lxc" && (row.DNF != 2 || row.Failed != 0 || !slices.Contains(row.Warnings, "2 of 3 launches did not finish beside the neighbour")) {
			t.Errorf("%+v", row)
		}
	}
}

func TestRelativeOfLatency(t *testing.T) {
	r := besides(t, latency, map[string][3]float64{
		"alone/native": {2, 2, 2}, "beside/native": {4, 4.1, 3.9}, "bomb/native": {dnf, dnf, dnf},
		"alone/lxc": {2, 2, 2}, "beside/lxc": {-1, 0, 2}, "bomb/lxc": {2.01, 1.99, 2},
	}, nil)
	native, lxc := r.Relative.Rows[0], r.Relative.Rows[1]
	// Twice the latency is half of the performance.
	c := native.Cells[0]
	approx(t, "kept", c.Kept, 1/c.Effect.Ratio)
	approx(t, "low", c.Low, 1/c.Effect.High)
	approx(t, "high", c.High, 1/c.Effect.Low)
	if c.Words != "50 %" || !(c.Low < c.Kept && c.Kept < c.High) {
		t.Errorf("%+v", c)
	}
	if c := native.Cells[1]; c.Words != "DNF 3 of 3" || c.Kept != 0 || c.N != 0 {
		t.Errorf("%+v", c)
	}
	if c := lxc.Cells[0]; c.Words != "100 %, failed 1 of 3, missing 1 of 3" || c.DNF != 0 {
		t.Errorf("%+v", c)
	}
	if a := lxc.Cells[1].Against; a.Words != "finishes where native does not" {
		t.Errorf("%+v", a)
	}
}

// Alike subjects are compared by Jain's index, and what became of the host and
// of the neighbour is gathered.
func TestFairnessAndWatch(t *testing.T) {
	trial := 0
	r := besides(t, throughput, map[string][3]float64{
		"alone/native": {100, 100, 100}, "beside/native": {60, 60, 60}, "bomb/native": {50, 50, dnf},
	}, func(o *bench.Outcome) {
		if o.Scene == "beside/native" {
			second := o.Actors[0]
			second.Actor, second.Values = "subject-2", []bench.Value{{Metric: "throughput", Value: 20}}
			o.Actors = append(o.Actors, second)
		}
		if o.Scene == "bomb/native" {
			trial++
			w := &bench.Watch{Available: bench.Bytes(trial) * bench.GiB, OOMInside: trial, Peak: 100 * trial}
			for i := range 100 {
				w.Starts = append(w.Starts, float64(trial*100+i))
			}
			w.Overdue = trial == 2 // which ends the neighbour, too
			if trial == 3 {
				w.Ended, w.Died = "too slow", []string{"sshd (7)"}
			}
			o.Watch = w
			o.Actors = append(o.Actors, bench.ActorOutcome{Actor: "neighbour", Role: bench.Neighbour, Ended: "1.0 s after it began: killed"})
		}
	})
	row := r.Relative.Rows[0]
	f := row.Cells[0].Fairness
	approx(t, "Jain", f.Jain.Mean, 80*80/(2*(60*60+20*20.0)))
	approx(t, "apart", f.Apart.Mean, 2.0/3)
	approx(t, "three like launches", f.Jain.Low, f.Jain.Mean)
	approx(t, "apart in three like launches", f.Apart.High, f.Apart.Mean)
	if f.N != 3 || f.Why != "" || *r.Cases[1].Rows[0].Fairness != *f {
		t.Errorf("%+v, of the row %+v", f, r.Cases[1].Rows[0].Fairness)
	}
	if c := row.Cells[1]; c.Fairness != nil || c.Gone != 1 || c.Ended != 1 || c.DNF != 1 {
		t.Errorf("%+v", c)
	}
	if len(r.Watches) != 1 {
		t.Fatalf("%+v", r.Watches)
	}
	w := r.Watches[0]
	if w.Starts != 300 || w.P50 != 249 || w.P99 != 396 || w.Max != 399 || w.Available != bench.GiB || w.OOMInside != 6 || w.Peak != 300 ||
		len(w.Died) != 1 || len(w.Ended) != 1 || w.Launches != 3 {
		t.Errorf("%+v", w)
	}
}

// A subject starved to zero finished: the zero is quoted, and no launch is said to lack.
func TestRelativeOfZero(t *testing.T) {
	r := besides(t, throughput, map[string][3]float64{
		"alone/native": {100, 100, 100}, "beside/native": {50, 51, 49}, "bomb/native": {starved, 40, 41},
		"alone/lxc": {100, 100, 100}, "beside/lxc": {starved, 0, starved}, "bomb/lxc": {starved, starved, starved},
	}, nil)
	native, lxc := r.Relative.Rows[0], r.Relative.Rows[1]
	for _, c := range []struct {
		cell           *result.MatrixCell
		n              int
		words, against string
	}{
		{native.Cells[1], 3, "no ratio", ""},
		{lxc.Cells[0], 2, "missing 1 of 3, no ratio",
			"not compared: lxc: launch b01-beside-lxc gave 0, which has no ratio (so in 2 of 2 blocks)"},
		{lxc.Cells[1], 3, "no ratio",
			"not compared: lxc: launch b01-bomb-lxc gave 0, which has no ratio (so in 3 of 3 blocks); " +
				"native: launch b01-bomb-native gave 0, which has no ratio (so in 1 of 3 blocks)"},
	} {
		if c.cell.Words != c.words || c.cell.N != c.n || c.cell.Effect.N != c.n || c.cell.Kept != 0 {
			t.Errorf("%+v, want %q of %d", c.cell, c.words, c.n)
		}
		if got := c.cell.Against; (got == nil) != (c.against == "") || got != nil && got.Words != c.against {
			t.Errorf("%+v, want %q", got, c.against)
		}
	}
	// The table of the case says the same.
	for _, row := range r.Cases[2].Rows {
		if row.Platform == "lxc" && row.Effect.Words != "not compared: launch b01-bomb-lxc gave 0, which has no ratio (so in 3 of 3 blocks)" {
			t.Error(row.Effect.Words)
		}
	}
}

// A scene set against one that has no part says so.
func TestRelativeToNothing(t *testing.T) {
	r := besides(t, throughput, map[string][3]float64{"beside/native": {1, 2, 3}}, nil)
	if c := r.Relative.Rows[0].Cells[0]; c.Words != "no pair of launches" || c.Kept != 0 {
		t.Errorf("%+v", c)
	}
}

// Cells are reported at the level at which their platform ended, and so is what it keeps against
// the baseline. What ended needs no more blocks.
func TestCellsUnderAStoppingRule(t *testing.T) {
	until := &bench.Until{Interval: 0.02, Min: 3, Max: 5, Looks: []int{3, 4, 5}}
	values := map[string][3]float64{
		"alone/native": {100, 101, 100}, "beside/native": {60, 60.5, 60}, "bomb/native": {math.NaN(), math.NaN(), math.NaN()},
		"alone/lxc": {100, 100.5, 100}, "beside/lxc": {5, 5.4, 5.8}, "bomb/lxc": {90, 90, 90.5},
	}
	r := besidesUntil(t, until, throughput, values, nil)
	if !r.Complete || r.Trials.NotNeeded != 12 || !r.Stops[0].Settled {
		t.Errorf("complete %v, %+v, %+v", r.Complete, r.Trials, r.Stops)
	}
	levels := stats.LevelsOf(len(until.Looks), 0.95)
	for _, row := range r.Relative.Rows {
		want := map[bool]float64{true: levels.Usual, false: levels.Strict}[row.Baseline]
		for _, c := range row.Cells {
			if c.Effect.HasRatio() && (c.Effect.Confidence != want || c.N != 3) {
				t.Errorf("%s %s: %+v, want the level %g", row.Platform, c.Case, c.Effect, want)
			}
			if c.Against != nil && c.Against.HasRatio() && c.Against.Confidence != want {
				t.Errorf("%s %s against native: %+v", row.Platform, c.Case, c.Against)
			}
		}
	}
	values["beside/native"] = [3]float64{60, 80, 60}
	if r := besidesUntil(t, until, throughput, values, nil); r.Complete || r.Stops[0].Ended || r.Stops[0].Platforms["lxc"] != 3 {
		t.Errorf("the baseline's cell is wide: complete %v, %+v", r.Complete, r.Stops[0])
	}
}

// A launch whose neighbour had ended before most of the window is none beside a neighbour, and counts
// nowhere. That one which means harm is stopped by its own limit is a finding, and so is a neighbour that
// leaves late.
func TestNoNeighbour(t *testing.T) {
	const window, half = int64(2e9), int64(1e9)
	for _, c := range []struct {
		name    string
		endedAt [3]int64 // by block; 0 never
		watched bool
		by      string
		alone   int
		words   string
	}{
		{"stays", [3]int64{}, false, "", 0, "50 %"},
		{"leaves late", [3]int64{half + 1, half + 1, half + 1}, false, "", 0, "50 %"},
		{"leaves early", [3]int64{half, half - 1, 1}, false, "", 3, "no neighbour 3 of 3"},
		{"leaves early once", [3]int64{1, 0, 0}, false, "", 1, "49 %, no neighbour 1 of 3"},
		{"runs out of its disk", [3]int64{1, 1, 1}, false, bench.OwnDisk, 3, "no neighbour 3 of 3"},
		{"means harm and is stopped", [3]int64{1, 1, 1}, true, bench.OwnMemory, 0, "50 %"},
		{"means harm and crashes", [3]int64{1, 1, 1}, true, "", 3, "no neighbour 3 of 3"},
	} {
		r := besides(t, throughput, map[string][3]float64{
			"alone/native": {100, 100, 100}, "beside/native": {51, 50, 49}, "bomb/native": {90, 90, 90},
			"alone/lxc": {80, 80, 80}, "beside/lxc": {40, 40, 40}, "bomb/lxc": {40, 40, 40},
		}, func(o *bench.Outcome) {
			o.Window = [2]int64{0, window}
			if o.Scene != "beside/native" {
				return
			}
			n := bench.ActorOutcome{Actor: "subject-2", Role: bench.Neighbour, EndedAt: c.endedAt[o.Block-1], EndedBy: c.by}
			if n.EndedAt > 0 {
				n.Ended = "0.1 s after it began: exit status 1: no room"
			}
			o.Actors = append(o.Actors, n)
			if c.watched {
				o.Watch = &bench.Watch{}
			}
		})
		cell := r.Relative.Rows[0].Cells[0]
		if cell.Alone != c.alone || cell.N != 3-c.alone || cell.Words != c.words {
			t.Errorf("%s: %d alone, %d beside: %q", c.name, cell.Alone, cell.N, cell.Words)
		}
		if said := strings.Contains(cell.Effect.Why, "there was no neighbour: it ended 0.1 s after it began: exit status 1: no room"); said != (c.alone > 0) {
			t.Errorf("%s: %q", c.name, cell.Effect.Why)
		}
		row := r.Cases[slices.IndexFunc(r.Cases, func(x result.Case) bool { return x.Name == "beside" })].Rows[0]
		if row.N != 3-c.alone || row.Alone != c.alone || len(row.Warnings) != min(c.alone, 1) {
			t.Errorf("%s: the case counts %d, %d alone: %q", c.name, row.N, row.Alone, row.Warnings)
		}
		if stopped := c.watched && c.by != ""; stopped != (cell.Stopped == 3 && cell.StoppedBy == bench.OwnMemory) {
			t.Errorf("%s: stopped in %d by %q", c.name, cell.Stopped, cell.StoppedBy)
		}
		if c.alone == 3 && (cell.Effect.Verdict != result.Refused || cell.Kept != 0) {
			t.Errorf("%s: %+v", c.name, cell)
		}
	}
}

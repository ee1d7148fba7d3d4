package stop

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
)

// ruledRun is an empty run of native and lxc under a stopping rule.
func ruledRun(t *testing.T, dir string) *store.Run {
	t.Helper()
	p := &bench.Plan{Blocks: 8, Baseline: "native", Until: &bench.Until{Interval: 0.05, Min: 3, Max: 8, Looks: []int{3, 5, 8}},
		Metrics: map[string][]bench.Metric{"up": {{Name: "time_to_ready", Unit: "ms", Better: bench.LowerIsBetter, Headline: true}}}}
	for _, name := range []string{"native", "lxc"} {
		ref := bench.PlatformRef{Name: name}
		p.Scenes = append(p.Scenes, bench.Scene{ID: "up/" + name, Case: "up", Kind: bench.Startup, Platform: ref})
	}
	for b := 1; b <= p.Blocks; b++ {
		for _, s := range p.Scenes {
			p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-%s", b, s.Platform.Name), Block: b, Scene: s.ID})
		}
	}
	r, err := store.Create(dir, store.Header{Run: "r1"}, nil, p, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// watching is a watch that has learnt all outcomes whenever it is asked.
func watching(t *testing.T, r *store.Run) func(string, int) (bool, error) {
	t.Helper()
	w := NewWatch(r.Plan())
	return func(scene string, block int) (bool, error) {
		for o, err := range r.Outcomes() {
			if err != nil {
				return false, err
			}
			w.Learn(o)
		}
		return w.Enough(scene, block), nil
	}
}

// block stores one block in which lxc has the given ratio.
func block(t *testing.T, r *store.Run, b int, ratio float64) {
	t.Helper()
	for _, trial := range r.Plan().Trials {
		if trial.Block != b {
			continue
		}
		v := 10.0
		if strings.HasSuffix(trial.Scene, "lxc") {
			v *= ratio
		}
		o := &bench.Outcome{Trial: trial.ID, Block: b, Scene: trial.Scene, Status: bench.Done, Values: []bench.Value{{Metric: "time_to_ready", Value: v}}}
		if err := r.Append(t.Context(), o, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// The run that is killed and resumed at any block ends where the one that is
// not does.
func TestEnoughIsTheSameAfterAResume(t *testing.T) {
	for _, ratios := range [][]float64{
		{1, 1.03, 0.99, 1, 1.01},            // wide after 3 blocks, narrow after 5
		{1, 1.5, 1.01, 1.02, 1, 1, 1.02, 1}, // one odd block keeps it wide to the max
	} {
		end := len(ratios)
		for killed := range end {
			dir := filepath.Join(t.TempDir(), "run")
			r := ruledRun(t, dir)
			ask := watching(t, r)
			for b := 1; b <= end; b++ {
				block(t, r, b, ratios[b-1])
				if b == killed {
					r, ask = reopened(t, r, 2*(8-b))
				}
				if is, err := ask("up/lxc", b); err != nil || is != (b == end) {
					t.Errorf("killed after block %d, asked after %d of %d: %v, %v", killed, b, end, is, err)
				}
			}
			reopened(t, r, 0)
		}
	}
}

// reopened closes the run and opens it again as resume does, with as many trials left.
func reopened(t *testing.T, r *store.Run, want int) (*store.Run, func(string, int) (bool, error)) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, finished, err := store.OpenForResume(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	if n, err := Left(again.Plan(), again.Outcomes); err != nil || n != want {
		t.Errorf("after %d outcomes %d trials are left, want %d, %v", len(finished), n, want, err)
	}
	return again, watching(t, again)
}

func TestNothingIsLeftOfACaseThatIsEnough(t *testing.T) {
	r := ruledRun(t, filepath.Join(t.TempDir(), "run"))
	defer r.Close()
	for b, ratio := range []float64{2, 2.001, 1.999} {
		block(t, r, b+1, ratio)
	}
	if n, err := Left(r.Plan(), r.Outcomes); err != nil || n != 0 {
		t.Errorf("%d trials left, %v", n, err)
	}
	ask := watching(t, r)
	if is, err := ask("up/native", 3); err != nil || !is {
		t.Errorf("enough: %v, %v", is, err)
	}
	ends, err := Read(r.Plan(), r.Outcomes())
	if err != nil || len(ends.Cases) != 1 || !ends.Cases[0].Settled || ends.Cases[0].Blocks != 3 {
		t.Errorf("%+v, %v", ends, err)
	}
	if r.Plan().Until = nil; NewWatch(r.Plan()) != nil {
		t.Error("a run without a rule is asked")
	}
}

// Nothing is waited for where every launch failed.
func TestEndWithoutARatio(t *testing.T) {
	r := ruledRun(t, filepath.Join(t.TempDir(), "run"))
	defer r.Close()
	for _, trial := range r.Plan().Trials {
		if trial.Block > 3 {
			break
		}
		if n, err := Left(r.Plan(), r.Outcomes); err != nil || n == 0 {
			t.Fatalf("%d trials left before %s, %v", n, trial.ID, err)
		}
		o := &bench.Outcome{Trial: trial.ID, Block: trial.Block, Scene: trial.Scene, Status: bench.Failed, Error: "no such program"}
		if err := r.Append(t.Context(), o, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Left(r.Plan(), r.Outcomes); err != nil || n != 0 {
		t.Errorf("%d trials left, %v", n, err)
	}
}

// A block is not looked at while a launch of it is to be repeated, for other work disturbed it. The
// repeat counts, whatever came before.
func TestEnoughWaitsForRepeats(t *testing.T) {
	r := ruledRun(t, filepath.Join(t.TempDir(), "run"))
	r.Plan().Disturbed = &bench.Disturbance{Above: 0.3, Repeats: 1}
	store := func(b int, name string, v float64, disturbed string, repeat int, status bench.Status) {
		t.Helper()
		o := &bench.Outcome{Trial: fmt.Sprintf("b%02d-%s", b, name), Block: b, Scene: "up/" + name, Status: status, Disturbed: disturbed, Repeat: repeat}
		if status == bench.Done {
			o.Values = []bench.Value{{Metric: "time_to_ready", Value: v}}
		}
		if err := r.Append(t.Context(), o, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for b, ratio := range []float64{2, 2.001} {
		block(t, r, b+1, ratio)
	}
	store(3, "native", 10, "", 0, bench.Done)
	store(3, "lxc", 90, "other work", 0, bench.Done)
	check := func(when string, ended bool, left int) {
		t.Helper()
		if is, err := watching(t, r)("up/lxc", 3); err != nil || is != ended {
			t.Errorf("%s: enough %v, %v", when, is, err)
		}
		if n, err := Left(r.Plan(), r.Outcomes); err != nil || n != left {
			t.Errorf("%s: %d trials left, want %d, %v", when, n, left, err)
		}
	}
	check("before the repeat", false, 11)
	store(3, "lxc", 0, "", 1, bench.Aborted)
	check("the repeat was aborted", false, 11)
	store(3, "lxc", 20, "other work", 1, bench.Done)
	check("repeated, and disturbed again", true, 0)
}

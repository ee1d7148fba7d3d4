package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
	"tare/internal/verify/powercut"
)

// durablePlan has three trials.
func durablePlan() *bench.Plan {
	p := &bench.Plan{Experiment: "e", Baseline: "native", Blocks: 3,
		Scenes: []bench.Scene{{ID: "cpu/native", Case: "cpu", Kind: bench.One, Platform: bench.PlatformRef{Name: "native"}}}}
	for i := range 3 {
		p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("t%d", i+1), Block: i + 1, Scene: "cpu/native"})
	}
	return p
}

const durableSpec = "name: e\n"

func durableCreate(dir string) (*store.Run, error) {
	return store.Create(dir, store.Header{Run: "r1", Tare: "0.1.0", Spec: "quick"}, []byte(durableSpec), durablePlan(), &host.Facts{CPUs: 2})
}

func durableSamples(trial string) []bench.Sample {
	return []bench.Sample{{At: 1, Level: bench.Host, Meter: "proc", Values: map[string]float64{"cpu_busy_s": float64(len(trial))}}}
}

func durableAppend(r *store.Run, trial string, status bench.Status) error {
	return r.Append(context.Background(), &bench.Outcome{Trial: trial, Block: int(trial[1] - '0'), Scene: "cpu/native", Status: status, Window: [2]int64{1, 2}},
		durableSamples(trial), map[string][]byte{"subject.stdout": []byte("text of " + trial)})
}

// checkRun looks at what a loss of power left of the run in the directory.
func checkRun(dir string, promised []string) error {
	if len(promised) == 0 {
		return nil // whoever asked for the run was told nothing
	}
	r, finished, err := store.OpenForResume(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	spec, err := r.Spec()
	if err != nil || string(spec) != durableSpec || r.Header().Run != "r1" || r.Host().CPUs != 2 || !reflect.DeepEqual(*r.Plan(), *durablePlan()) {
		return fmt.Errorf("its header, specification, host or plan is another: %w", err)
	}
	for _, p := range promised {
		if trial, ok := strings.CutPrefix(p, "stored "); ok && !finished[trial] {
			return fmt.Errorf("trial %s is lost", trial)
		}
	}
	for trial := range finished {
		var samples []bench.Sample
		err := r.Samples(trial, func(s *bench.Sample) error {
			c := *s
			c.Values = maps.Clone(s.Values) // the next sample's map is the same
			samples = append(samples, c)
			return nil
		})
		if err != nil || !reflect.DeepEqual(samples, durableSamples(trial)) {
			return fmt.Errorf("trial %s has the samples %+v: %w", trial, samples, err)
		}
		if text, err := r.Output(trial, "subject", "stdout"); err != nil || string(text) != "text of "+trial {
			return fmt.Errorf("the output of trial %s is %q: %w", trial, text, err)
		}
	}
	return nil
}

// TestDurable loses the power at every moment of a run: a run that was begun can be gone on with, a trial that was stored stays, and one that
// has a line has all its samples and output.
func TestDurable(t *testing.T) {
	powercut.Run(t, powercut.Scenario{
		Act: func(dir string, promise func(string)) error {
			r, err := durableCreate(filepath.Join(dir, "run"))
			if err != nil {
				return err
			}
			defer r.Close()
			promise("begun")
			for _, trial := range []string{"t1", "t2"} {
				if err := durableAppend(r, trial, bench.Done); err != nil {
					return err
				}
				promise("stored " + trial)
			}
			return nil
		},
		Check: func(dir string, promised []string) error { return checkRun(filepath.Join(dir, "run"), promised) },
		Guards: `
sync run/spec.yaml: before "begun"
sync run/plan.json: before "begun"
sync run/host.json: before "begun"
sync run/run.json: before "begun"
sync run: before "begun"
sync .: before "begun"
sync run/samples/t1.jsonl: before write run/trials.jsonl
sync run/samples: before write run/trials.jsonl
sync run/output/t1/subject.stdout: before write run/trials.jsonl
sync run/output/t1: before write run/trials.jsonl
sync run/output: before write run/trials.jsonl
sync run/trials.jsonl: before "stored t1"
sync run/samples/t2.jsonl: before write run/trials.jsonl
sync run/samples: before write run/trials.jsonl
sync run/output/t2/subject.stdout: before write run/trials.jsonl
sync run/output/t2: before write run/trials.jsonl
sync run/output: before write run/trials.jsonl
sync run/trials.jsonl: before "stored t2"
`,
	})
}

// TestDurableResume loses the power while a run is taken up again whose last line is torn: what was stored stays, and the torn line is kept
// in one place or the other until it is only in the one for it.
func TestDurableResume(t *testing.T) {
	const torn = `{"trial":"t2","sta`
	powercut.Run(t, powercut.Scenario{
		Before: func(dir string) error {
			r, err := durableCreate(dir)
			if err != nil {
				return err
			}
			defer r.Close()
			if err := durableAppend(r, "t1", bench.Done); err != nil {
				return err
			}
			if err := durableAppend(r, "t3", bench.Aborted); err != nil {
				return err
			}
			f, err := os.OpenFile(filepath.Join(dir, "trials.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(torn)
			return err
		},
		Act: func(dir string, promise func(string)) error {
			promise("stored t1")
			r, _, err := store.OpenForResume(dir)
			if err != nil {
				return err
			}
			defer r.Close()
			promise("mended")
			if err := durableAppend(r, "t3", bench.Done); err != nil {
				return err
			}
			promise("stored t3")
			return nil
		},
		Check: func(dir string, promised []string) error {
			line, err := os.ReadFile(filepath.Join(dir, "trials.jsonl"))
			if err != nil {
				return err
			}
			aside, err := os.ReadFile(filepath.Join(dir, "trials.jsonl.torn"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			there, saved := strings.HasSuffix(string(line), torn), strings.Contains(string(aside), torn+"\n")
			if !there && !saved {
				return errors.New("the torn line is lost")
			}
			if slices.Contains(promised, "mended") && (there || !saved) {
				return errors.New("the torn line is where it was")
			}
			return checkRun(dir, promised)
		},
		Guards: `
sync trials.jsonl.torn: before cut trials.jsonl
sync .: before cut trials.jsonl
sync trials.jsonl: before "mended"
sync samples/t3.jsonl: before write trials.jsonl
sync samples: before write trials.jsonl
sync output/t3/subject.stdout: before write trials.jsonl
sync output/t3: before write trials.jsonl
sync output: before write trials.jsonl
sync trials.jsonl: before "stored t3"
`,
	})
}

package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
	"tare/internal/host"
)

// repeating makes a run whose trials are repeated twice at most, with the first one disturbed.
func repeating(t *testing.T) *Run {
	t.Helper()
	p := testPlan()
	p.Disturbed = &bench.Disturbance{Above: 0.3, Repeats: 2}
	r, err := Create(filepath.Join(t.TempDir(), "run"), Header{Run: "r1"}, nil, p, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := launched(r, 0, bench.Done, true, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// launched stores a launch of the first trial, with as many samples as it had launches.
func launched(r *Run, repeat int, status bench.Status, disturbed bool, change func(*bench.Outcome)) error {
	o := outcome("b01-t01", status)
	if o.Repeat = repeat; disturbed {
		o.Disturbed = "other work"
	}
	if change != nil {
		change(o)
	}
	text := []byte("launch " + string(rune('0'+repeat)))
	return r.Append(context.Background(), o, someSamples(repeat+1), map[string][]byte{"subject.stdout": text})
}

// stands checks which launch the files of the first trial are of.
func stands(t *testing.T, r *Run, repeat int) {
	t.Helper()
	n := 0
	if err := r.Samples("b01-t01", func(*bench.Sample) error { n++; return nil }); err != nil || n != repeat+1 {
		t.Errorf("%d samples, %v: want those of launch %d", n, err, repeat)
	}
	if text, err := r.Output("b01-t01", "subject", "stdout"); err != nil || string(text) != "launch "+string(rune('0'+repeat)) {
		t.Errorf("output %q, %v: want that of launch %d", text, err, repeat)
	}
}

// resumed closes the run and opens it again, with the first trial finished or not.
func resumed(t *testing.T, r *Run, done bool) *Run {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, finished, err := OpenForResume(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	if finished["b01-t01"] != done {
		t.Errorf("finished: %v, want %v", finished["b01-t01"], done)
	}
	return again
}

func TestBothLaunchesOfARepeatedTrialAreKept(t *testing.T) {
	r := resumed(t, repeating(t), false)
	stands(t, r, 0)
	for repeat, disturbed := range []bool{true, true, true} {
		if repeat == 0 {
			continue
		}
		if err := launched(r, repeat, bench.Done, disturbed, nil); err != nil {
			t.Fatal(err)
		}
		stands(t, r, repeat)
		r = resumed(t, r, repeat == 2) // no more than the plan says
		stands(t, r, repeat)
	}
	for _, name := range []string{"samples/b01-t01.launch-1.jsonl", "output/b01-t01.launch-1/subject.stdout", "samples/b01-t01.launch-2.jsonl"} {
		if _, err := os.Stat(filepath.Join(r.Dir(), name)); err != nil {
			t.Error(err)
		}
	}
	if got := trials(t, r); got != "b01-t01:done b01-t01:done b01-t01:done" {
		t.Errorf("outcomes %s", got)
	}
	if err := launched(r, 2, bench.Done, false, nil); err == nil {
		t.Error("a settled trial was stored again")
	}
}

// A repeat that is not stored leaves the launch before as it was.
func TestARepeatThatIsNotStored(t *testing.T) {
	r := repeating(t)
	if err := launched(r, 1, bench.Done, false, func(o *bench.Outcome) { o.Window = [2]int64{0, -1 << 62} }); err == nil {
		t.Error("an impossible outcome was stored")
	}
	stands(t, r, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := outcome("b01-t01", bench.Done)
	o.Repeat = 1
	if err := r.Append(ctx, o, someSamples(9), nil); err == nil {
		t.Error("stored although it was cancelled")
	}
	stands(t, r, 0)
	if err := launched(r, 1, bench.Aborted, false, nil); err != nil {
		t.Fatal(err)
	}
	stands(t, r, 0)
	r = resumed(t, r, false)
	stands(t, r, 0)
	if err := launched(r, 1, bench.Failed, false, nil); err != nil {
		t.Fatal(err)
	}
	resumed(t, r, true)
}

// A crash at any step of storing a repeat leaves the launch before, once the run is resumed.
func TestACrashWhileARepeatIsStored(t *testing.T) {
	for name, steps := range map[string]func(r *Run) error{
		"files set aside": func(r *Run) error { return r.setAside("b01-t01", 1) },
		"output set aside": func(r *Run) error {
			return r.rename(outputDir, "b01-t01", aside("b01-t01", 1))
		},
		"no line": func(r *Run) error {
			if err := r.setAside("b01-t01", 1); err != nil {
				return err
			}
			return r.writeSamples("b01-t01", someSamples(9))
		},
	} {
		r := repeating(t)
		if err := steps(r); err != nil {
			t.Fatal(err)
		}
		r = resumed(t, r, false)
		n := 0
		if err := r.Samples("b01-t01", func(*bench.Sample) error { n++; return nil }); err != nil || n != 1 {
			t.Errorf("%s: %d samples, %v", name, n, err)
		}
		if err := launched(r, 1, bench.Done, false, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		stands(t, r, 1)
		for _, kept := range []string{"samples/b01-t01.launch-1.jsonl", "output/b01-t01.launch-1/subject.stdout"} {
			if _, err := os.Stat(filepath.Join(r.Dir(), kept)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestRepeatsThatThePlanDoesNotAllow(t *testing.T) {
	r := repeating(t)
	for _, repeat := range []int{-1, 3} {
		if err := launched(r, repeat, bench.Done, false, nil); err == nil {
			t.Errorf("repeat %d was stored", repeat)
		}
	}
	if err := launched(create(t, filepath.Join(t.TempDir(), "run")), 1, bench.Done, false, nil); err == nil {
		t.Error("a repeat was stored though the plan has none")
	}
}

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host"
)

func testPlan() *bench.Plan {
	p := &bench.Plan{Experiment: "e", Baseline: "native", Blocks: 3,
		Scenes: []bench.Scene{{ID: "cpu/native", Case: "cpu", Kind: bench.One, Platform: bench.PlatformRef{Name: "native"}}}}
	for i := range 3 {
		p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-t%02d", i+1, i+1), Block: i + 1, Scene: "cpu/native"})
	}
	return p
}

func create(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Create(dir, Header{Run: "r1", Tare: "0.1.0", Spec: "quick"}, []byte("name: e\n"), testPlan(), &host.Facts{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func outcome(trial string, status bench.Status) *bench.Outcome {
	block := 1
	fmt.Sscanf(trial, "b%02d-", &block)
	return &bench.Outcome{Trial: trial, Block: block, Scene: "cpu/native", Status: status, Window: [2]int64{1, 2}}
}

func someSamples(n int) []bench.Sample {
	out := make([]bench.Sample, n)
	for i := range out {
		out[i] = bench.Sample{At: int64(i), Level: bench.Host, Meter: "proc", Values: map[string]float64{"cpu_busy_s": float64(i) / 4}}
	}
	return out
}

func appendTrial(t *testing.T, r *Run, trial string) {
	t.Helper()
	err := r.Append(context.Background(), outcome(trial, bench.Done), someSamples(3), map[string][]byte{"subject.stdout": []byte("text of " + trial)})
	if err != nil {
		t.Fatal(err)
	}
}

func trials(t *testing.T, r *Run) string {
	t.Helper()
	var ids []string
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.Trial+":"+string(o.Status))
	}
	return strings.Join(ids, " ")
}

func TestRunComesBackAsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "run")
	w := create(t, dir)
	appendTrial(t, w, "b01-t01")
	r, err := Open(dir) // while it is being written
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Header(); h.Format != Format || h.Run != "r1" || h.Spec != "quick" {
		t.Errorf("header %+v", h)
	}
	if !reflect.DeepEqual(r.Plan(), testPlan()) || r.Host().CPUs != 2 {
		t.Errorf("plan %+v, host %+v", r.Plan(), r.Host())
	}
	if spec, err := r.Spec(); err != nil || string(spec) != "name: e\n" {
		t.Errorf("spec %q, %v", spec, err)
	}
	if got := trials(t, r); got != "b01-t01:done" {
		t.Error(got)
	}
	var got []bench.Sample
	err = r.Samples("b01-t01", func(s *bench.Sample) error {
		c := *s
		c.Values = map[string]float64{"cpu_busy_s": s.Values["cpu_busy_s"]}
		got = append(got, c)
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, someSamples(3)) {
		t.Errorf("samples %+v, %v", got, err)
	}
	if out, err := r.Output("b01-t01", "subject", "stdout"); err != nil || string(out) != "text of b01-t01" {
		t.Errorf("output %q, %v", out, err)
	}
	if _, err := r.Output("b01-t01", "../../subject", "stdout"); err == nil {
		t.Error("a path was taken for a name")
	}
	stop := errors.New("enough")
	if err := r.Samples("b01-t01", func(*bench.Sample) error { return stop }); err != stop {
		t.Errorf("reading ended with %v", err)
	}
}

func TestCreateRefusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	create(t, dir)
	_, err := Create(dir, Header{Run: "r1"}, nil, testPlan(), &host.Facts{})
	if !errors.Is(err, ErrBusy) || bench.HintOf(err) == "" {
		t.Errorf("while it is written: %v", err)
	}
	if _, _, err := OpenForResume(dir); !errors.Is(err, ErrBusy) || !strings.Contains(bench.HintOf(err), "tare report "+dir) || strings.Contains(bench.HintOf(err), "-o") {
		t.Errorf("resume while it is written: %v; %s", err, bench.HintOf(err))
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Create(other, Header{Run: "r1"}, nil, testPlan(), &host.Facts{})
	if err == nil || !strings.Contains(err.Error(), `"mine"`) || bench.HintOf(err) == "" {
		t.Errorf("not empty: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "mine")); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesWhatIsNoRun(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || bench.HintOf(err) == "" {
		t.Errorf("empty folder: %v", err)
	}
	w := create(t, dir)
	w.Close()
	for file, text := range map[string]string{
		headerFile: `{"format":"tare-run/9","tare":"9.0"}`,
		planFile:   "{\n \"trials\": [\n oops ]}",
		hostFile:   `{"cpus": "two"}`,
	} {
		path := filepath.Join(dir, file)
		whole, _ := os.ReadFile(path)
		os.WriteFile(path, []byte(text), 0o644)
		_, err := Open(dir)
		if err == nil || bench.HintOf(err) == "" || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
		if file == planFile && !strings.Contains(err.Error(), "plan.json:3: ") {
			t.Errorf("the line is not named: %v", err)
		}
		os.WriteFile(path, whole, 0o644)
	}
}

func TestAppendRefuses(t *testing.T) {
	w := create(t, t.TempDir())
	appendTrial(t, w, "b01-t01")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, err := range map[string]error{
		"twice":      w.Append(context.Background(), outcome("b01-t01", bench.Done), nil, nil),
		"unplanned":  w.Append(context.Background(), outcome("b09-t99", bench.Done), nil, nil),
		"cancelled":  w.Append(ctx, outcome("b02-t02", bench.Done), someSamples(1), nil),
		"path":       w.Append(context.Background(), outcome("b02-t02", bench.Done), nil, map[string][]byte{"../x": nil}),
		"not a JSON": w.Append(context.Background(), &bench.Outcome{Trial: "b02-t02", Values: []bench.Value{{Value: nan()}}}, nil, nil),
	} {
		if err == nil {
			t.Errorf("%s: stored", name)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Dir(), samplesDir, samplesName("b02-t02"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("samples of a trial that was not stored: %v", err)
	}
	appendTrial(t, w, "b02-t02")
	if got := trials(t, w); got != "b01-t01:done b02-t02:done" {
		t.Error(got)
	}
}

func nan() float64 { z := 0.0; return z / z }

func TestResume(t *testing.T) {
	line := `{"trial":"b02-t02","scene":"cpu/native","status":"done"}`
	for name, torn := range map[string]string{
		"nothing torn": "", "half a line": line[:20], "whole but for the newline": line,
		"zeros after a crash": strings.Repeat("\x00", 100), "garbage and newline": "\x00\x00x\n", "long": strings.Repeat("x", 200<<10),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := create(t, dir)
			appendTrial(t, w, "b01-t01")
			if err := w.Append(context.Background(), outcome("b03-t03", bench.Aborted), someSamples(2), nil); err != nil {
				t.Fatal(err)
			}
			w.Close()
			write(t, filepath.Join(dir, trialsFile), torn)
			write(t, filepath.Join(dir, samplesDir, "b02-t02.jsonl"), `{"at":1,`)
			os.Mkdir(filepath.Join(dir, outputDir, "b02-t02"), 0o755)

			reader, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if string(reader.Torn()) != torn {
				t.Errorf("a reader sees %q torn", reader.Torn())
			}
			r, finished, err := OpenForResume(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if !reflect.DeepEqual(finished, map[string]bool{"b01-t01": true}) {
				t.Errorf("finished: %v", finished)
			}
			saved, _ := os.ReadFile(filepath.Join(dir, tornFile))
			if !bytes.Equal(bytes.TrimSuffix(saved, []byte("\n")), bytes.TrimSuffix([]byte(torn), []byte("\n"))) {
				t.Errorf("saved aside: %q", saved)
			}
			appendTrial(t, r, "b02-t02")
			appendTrial(t, r, "b03-t03")
			if got := trials(t, r); got != "b01-t01:done b03-t03:aborted b02-t02:done b03-t03:done" {
				t.Error(got)
			}
			again, err := Open(dir)
			if err != nil || len(again.Torn()) != 0 {
				t.Errorf("afterwards: %v, torn %q", err, again.Torn())
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestDamageInTheMiddleIsNamed(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	appendTrial(t, w, "b01-t01")
	w.Close()
	path := filepath.Join(dir, trialsFile)
	good, _ := os.ReadFile(path)
	for text, want := range map[string]string{
		"{\"trial\":\"b0#broken\n":                                        `JSON input`,
		`{"trial":"b02-t02","scene":"cpu/native","status":"well"}` + "\n": `unknown status "well"`,
		`{"trial":"b02-t02","scene":"none","status":"done"}` + "\n":       `trial b02-t02 is of scene "cpu/native" in the plan, and of "none" here`,
		`{"trial":"../x","scene":"cpu/native","status":"done"}` + "\n":    `trial "../x" is not in the plan`,
	} {
		os.WriteFile(path, append([]byte(text), good...), 0o644)
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = nil
		for _, e := range r.Outcomes() {
			err = e
		}
		if err == nil || !strings.Contains(err.Error(), "trials.jsonl:1: ") || !strings.Contains(err.Error(), want) || bench.HintOf(err) == "" {
			t.Errorf("%s: %v", text, err)
		}
		if _, _, err := OpenForResume(dir); err == nil {
			t.Errorf("%s: resumed", text)
		}
	}
	write(t, filepath.Join(dir, samplesDir, "b01-t01.jsonl"), "{\"at\":oops\n")
	r, _ := Open(dir)
	err := r.Samples("b01-t01", func(*bench.Sample) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `b01-t01.jsonl:4: `) || !strings.Contains(err.Error(), "oops") || bench.HintOf(err) == "" {
		t.Errorf("samples: %v", err)
	}
}

// A file system of our own that no path leads to, so that it is gone with the
// process whatever happens.
func tinyDisk(t *testing.T, size string) string {
	t.Helper()
	fsfd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		t.Skipf("a file system to fill: fsopen: %v", err)
	}
	defer unix.Close(fsfd)
	if err := unix.FsconfigSetString(fsfd, "size", size); err != nil {
		t.Fatal(err)
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		t.Skipf("a file system to fill: fsconfig: %v", err)
	}
	mnt, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		t.Skipf("a file system to fill: fsmount: %v", err)
	}
	t.Cleanup(func() { unix.Close(mnt) })
	return fmt.Sprintf("/proc/self/fd/%d/run", mnt)
}

func TestFullDiskLosesNothing(t *testing.T) {
	dir := tinyDisk(t, "256k")
	w := create(t, dir)
	appendTrial(t, w, "b01-t01")
	filler := filepath.Join(filepath.Dir(dir), "filler")
	fill := func(leave int64) {
		t.Helper()
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filler, make([]byte, int64(st.Bfree)*st.Bsize-leave), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	large := outcome("b02-t02", bench.Done)
	large.Warnings = []string{strings.Repeat("w", 40<<10)}
	for _, leave := range []int64{0, 4096, 8192, 20 << 10} { // fails in samples, output, and in the middle of the line
		fill(leave)
		err := w.Append(context.Background(), large, someSamples(3), map[string][]byte{"subject.stdout": []byte("x")})
		if !errors.Is(err, unix.ENOSPC) || !strings.Contains(bench.HintOf(err), "disk is full") {
			t.Fatalf("with %d bytes left: %v", leave, err)
		}
		if got := trials(t, w); got != "b01-t01:done" {
			t.Fatalf("with %d bytes left: %s", leave, got)
		}
		os.Remove(filler)
	}
	if err := w.Append(context.Background(), large, someSamples(3), nil); err != nil {
		t.Fatal(err)
	}
	appendTrial(t, w, "b03-t03")
	r, err := Open(dir)
	if err != nil || len(r.Torn()) != 0 {
		t.Fatalf("%v, torn %q", err, r.Torn())
	}
	if got := trials(t, r); got != "b01-t01:done b02-t02:done b03-t03:done" {
		t.Error(got)
	}
}

// A writer killed by SIGKILL again and again at any moment loses no trial it
// had stored.
func TestKilledWriterKeepsWhatItStored(t *testing.T) {
	if dir := os.Getenv("TARE_STORE_TEST_DIR"); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "run")
	plan := manyTrials()
	w, err := Create(dir, Header{Run: "r1"}, nil, plan, &host.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	var stored []string
	for round := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledWriterKeepsWhatItStored$", "-test.v")
		cmd.Env = append(os.Environ(), "TARE_STORE_TEST_DIR="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 0, 4096)
		buf := make([]byte, 64)
		for want := 3 + round; bytes.Count(said, []byte("stored ")) < want; {
			n, err := out.Read(buf)
			said = append(said, buf[:n]...)
			if err != nil {
				t.Fatalf("the writer ended by itself: %s", said)
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		for _, line := range strings.Split(string(said), "\n") {
			if id, ok := strings.CutPrefix(line, "stored "); ok && len(id) == 4 {
				stored = append(stored, id)
			}
		}
	}
	r, finished, err := OpenForResume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(stored) < 40 {
		t.Fatalf("only %d trials were stored", len(stored))
	}
	for _, id := range stored {
		n := 0
		if !finished[id] || r.Samples(id, func(*bench.Sample) error { n++; return nil }) != nil || n != 200 {
			t.Errorf("%s was stored and is lost: %v, %d samples", id, finished[id], n)
		}
	}
}

func manyTrials() *bench.Plan {
	p := testPlan()
	p.Trials = nil
	for i := range 9000 {
		p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprint(1000 + i), Block: 1, Scene: "cpu/native"})
	}
	return p
}

func writeUntilKilled(t *testing.T, dir string) {
	r, finished, err := OpenForResume(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range r.Plan().Trials {
		if finished[trial.ID] {
			continue
		}
		if err := r.Append(context.Background(), outcome(trial.ID, bench.Done), someSamples(200), map[string][]byte{"a.stdout": []byte("x")}); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("stored %s\n", trial.ID)
	}
}

// A trial that the time of its containment ended was written as one that did not finish
// before there was a status for it.
func TestOverdueAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir)
	for i, o := range []*bench.Outcome{
		{Status: bench.DidNotFinish, Watch: &bench.Watch{Overdue: true}}, {Status: bench.DidNotFinish, Watch: &bench.Watch{Ended: "no memory"}}, {Status: bench.Overdue, Watch: &bench.Watch{Overdue: true}},
	} {
		o.Trial, o.Block, o.Scene = r.Plan().Trials[i].ID, i+1, "cpu/native"
		if err := r.Append(t.Context(), o, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []bench.Status
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Status)
	}
	if want := []bench.Status{bench.Overdue, bench.DidNotFinish, bench.Overdue}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, finished, err := OpenForResume(dir)
	if err != nil || len(finished) != 3 {
		t.Errorf("%d are finished, %v", len(finished), err)
	} else {
		again.Close()
	}
}

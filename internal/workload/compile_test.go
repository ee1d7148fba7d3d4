package workload

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestCompileSteps(t *testing.T) {
	w := compile{}
	for _, c := range []struct {
		given  bench.Params
		end    string // of the command line
		before string // is prepared
		limit  time.Duration
	}{
		{nil, "compile.sh lib 2", "linux-build /scratch/build; find", time.Minute},
		{bench.Params{"target": "vmlinux", "jobs": "5"}, "compile.sh vmlinux 5", "find", time.Hour},
		{bench.Params{"cache": "cold"}, "compile.sh lib 2", "linux-build /scratch/build", time.Minute},
	} {
		steps, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), setting())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(steps.Main.Argv, " "); !strings.HasSuffix(got, c.end) || steps.Main.Timeout < c.limit {
			t.Errorf("%v: %q within %v", c.given, got, steps.Main.Timeout)
		}
		prepared := strings.Join(steps.Prepare[0].Argv, " ")
		if !strings.Contains(prepared, c.before) || strings.Contains(prepared, "find") != (c.given["cache"] != "cold") {
			t.Errorf("%v: prepared by %q", c.given, prepared)
		}
	}
	for given, says := range map[string]string{"jobs": `"0": must be at least 1`, "target": `"0": not one of sched, lib, vmlinux`, "cache": "not one of warm, cold"} {
		_, err := Fill(w, bench.Params{given: "0"})
		wantError(t, err, says)
	}
	if _, err := w.Steps(bench.SubjectPart, fill(t, w, nil), bench.Setting{Timing: bench.Timing{Deadline: time.Second}}); err == nil {
		t.Error("a deadline of a second is taken for a compile of twenty")
	}
}

func TestCompileParse(t *testing.T) {
	w := compile{}
	p, good := fill(t, w, bench.Params{"target": "sched"}), captured(t, "compile.txt")
	values, err := w.Parse(p, setting(), bench.Output{Stdout: good})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	if value(t, values, "time") != 7.436041 || value(t, values, "objects") != 4 {
		t.Errorf("%v", values)
	}
	for says, out := range map[string]bench.Output{
		"build_utility.c":                       {Stderr: captured(t, "compile-fails.txt"), Exit: 2},
		`"time": found 0 times`:                 {},
		`objects: "x4": not a number`:           {Stdout: bytes.Replace(good, []byte("objects 4"), []byte("objects x4"), 1)},
		`time: "-7.436041": not above zero`:     {Stdout: bytes.Replace(good, []byte("time 7"), []byte("time -7"), 1)},
		"2 files compiled for sched, which has": {Stdout: bytes.Replace(good, []byte("objects 4"), []byte("objects 2"), 1)},
		"killed at its deadline":                {TimedOut: true},
	} {
		_, err := w.Parse(p, setting(), out)
		wantError(t, err, says)
	}
}

func FuzzCompileParse(f *testing.F) {
	f.Add(captured(f, "compile.txt"))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		p := fill(t, compile{}, bench.Params{"target": "sched"})
		if values, err := (compile{}).Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, compile{}, p, values)
		}
	})
}

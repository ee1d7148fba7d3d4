package workload

import (
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestCopyUpSteps(t *testing.T) {
	w := copyUp{}
	steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"file": "scratch"}), setting())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(steps.Prepare, steps.Main) {
		if c.Argv[0] != "bash" || c.Argv[4] != "scratch" || c.Timeout <= 0 {
			t.Errorf("%q, at most %v", c.Argv, c.Timeout)
		}
	}
	if steps.Main.Argv[5] != "7" {
		t.Errorf("main %q", steps.Main.Argv)
	}
}

// Captured in docker with overlay2.
const copyUpOut = "write 38706\nwrite 3719\nwrite 1768\nwrite 1323\nwrite 4489\nwrite 1966\nwrite 1851\n"

func TestCopyUpParse(t *testing.T) {
	w := copyUp{}
	p := fill(t, w, nil)
	values, err := w.Parse(p, setting(), bench.Output{Stdout: []byte(copyUpOut)})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	first, later := 38.706, 1.851
	for metric, want := range map[string]float64{"first": first, "second": 3.719, "later": later, "penalty": first / later} {
		if got := value(t, values, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	for name, out := range map[string]bench.Output{
		"write 0":        {Stdout: []byte("write 0\n" + copyUpOut)},
		"write -":        {Stdout: []byte("write -\n")},
		"6 writes of 7":  {Stdout: []byte(copyUpOut[strings.Index(copyUpOut, "\n")+1:])},
		"0 writes of 7":  {},
		"No such file":   {Exit: 1, Stderr: []byte("dd: failed to open: No such file or directory")},
		"exit status 28": {Exit: 28, Stdout: []byte(copyUpOut)},
	} {
		if _, err := w.Parse(p, setting(), out); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCopyUpParse(f *testing.F) {
	f.Add([]byte(copyUpOut))
	f.Fuzz(func(t *testing.T, out []byte) {
		values, err := copyUp{}.Parse(nil, bench.Setting{}, bench.Output{Stdout: out})
		if (err == nil) != (len(values) == 4) {
			t.Errorf("%d values, %v", len(values), err)
		}
	})
}

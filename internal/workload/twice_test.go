package workload

import (
	"strings"
	"testing"

	"tare/internal/bench"
)

const rewritten = "files 1000\nbytes 12345678\nrewrite begins\nfirst 1.250000 s\nagain 0.500000 s\n"

func TestParseTwice(t *testing.T) {
	for _, w := range []bench.Workload{rewrite{}, packages{}} {
		t.Run(w.Name(), func(t *testing.T) { parsesTwice(t, w) })
	}
}

func parsesTwice(t *testing.T, w bench.Workload) {
	p := fill(t, w, nil)
	values, err := w.Parse(p, setting(), bench.Output{Stdout: []byte(rewritten)})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	if values[0].Value != 1250 || values[1].Value != 500 || values[3].Value != 12.345678 || values[4].Value != 2.5 {
		t.Errorf("%v", values)
	}
	for name, out := range map[string]bench.Output{
		"nothing":     {},
		"failed":      {Exit: 2, Stderr: []byte("/usr/lib/x: Read-only file system\n"), Stdout: []byte(rewritten)},
		"twice":       {Stdout: []byte(rewritten + rewritten)},
		"no time":     {Stdout: []byte(strings.Replace(rewritten, "1.25", "-1.25", 1))},
		"no number":   {Stdout: []byte(strings.Replace(rewritten, "0.500000", "nan", 1))},
		"not to pass": {Stdout: []byte(strings.Replace(rewritten, "again", "agaim", 1))},
	} {
		if v, err := w.Parse(p, setting(), out); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

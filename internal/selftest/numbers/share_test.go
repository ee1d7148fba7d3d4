package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMedianInterval(t *testing.T) {
	// The order statistics of the sign test, as in Conover's tables: of 20 values
	// the 6th and the 15th, of 6 the first and the last.
	for n, want := range map[int][]float64{5: nil, 6: {1, 6}, 20: {6, 15}, 40: {14, 27}} {
		var x []float64
		for i := range n {
			x = append(x, float64(n-i))
		}
		if got := medianInterval(x); !slices.Equal(got, want) {
			t.Errorf("of %d values: %v, want %v", n, got, want)
		}
	}
}

// The stopwatch in a program's place passes on what goes in and out, its
// arguments and its exit status, and reads a time.
func TestWrapper(t *testing.T) {
	self := filepath.Join(t.TempDir(), "numbers")
	if out, err := exec.Command("go", "build", "-o", self, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	w, err := newWrapper(t.TempDir(), "sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, timed := range []bool{true, false} {
		if err := w.reset(); err != nil {
			t.Fatal(err)
		}
		to := w.Real
		if timed {
			to = self
		}
		if err := w.point(to); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(w.dir, "sh"), "-c", `echo "$1"; cat; echo no >&2; exit 7`, "sh", "a b")
		cmd.Stdin = strings.NewReader("in\n")
		var words strings.Builder
		cmd.Stderr = &words
		out, _ := cmd.Output()
		if string(out) != "a b\nin\n" || words.String() != "no\n" || cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("timed %t: printed %q and %q, exit %d", timed, out, words.String(), cmd.ProcessState.ExitCode())
		}
		if ms, err := w.reading(); (err == nil) != timed || timed && ms <= 0 {
			t.Errorf("timed %t: a reading of %g ms, %v", timed, ms, err)
		}
	}
}

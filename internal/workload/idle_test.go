package workload

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestIdle(t *testing.T) {
	w := idle{}
	s := setting()
	s.Timing = bench.Timing{Warmup: 300 * time.Millisecond, Measure: 2 * time.Second}
	steps, err := w.Steps(bench.SubjectPart, nil, s)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(steps.Main.Argv, " "); got != "sleep 2" || strings.Join(steps.Warm[0].Argv, " ") != "sleep 0.3" {
		t.Errorf("%s after %v", got, steps.Warm)
	}
	if vs, err := w.Parse(nil, s, bench.Output{}); err != nil || vs != nil {
		t.Errorf("%v, %v", vs, err)
	}
	if _, err := w.Parse(nil, s, bench.Output{Exit: 1}); err == nil {
		t.Error("a sleep that failed passes")
	}
	s.Timing.Measure = 0
	if _, err := w.Steps(bench.SubjectPart, nil, s); err == nil {
		t.Error("no time to sleep passes")
	}
}

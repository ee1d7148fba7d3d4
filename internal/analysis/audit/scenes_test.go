package audit

import (
	"slices"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestDifferences(t *testing.T) {
	scene := func(memory bench.Bytes, thp, threads string, measure time.Duration) *bench.Scene {
		return &bench.Scene{Timing: bench.Timing{Measure: measure}, Conditions: map[string]string{"thp": thp}, Pool: int(measure),
			Actors: []bench.Actor{{Role: bench.Subject, Shape: bench.Shape{Memory: memory}, Params: bench.Params{"threads": threads}}}}
	}
	a, b := scene(256*bench.MiB, "never", "1", time.Second), scene(bench.GiB, "always", "2", 2*time.Second)
	b.Actors[0].Shape.CPUQuota = 0.1
	b.Actors[0].CPUSet = []int{1}
	b.Actors = append(b.Actors, bench.Actor{Role: bench.Neighbour, Shape: bench.Shape{Pids: 3}})
	want := []string{"CPU quota 0.1 for none", "condition thp always for never", "measuring 2s for 1s", "memory 1 GiB for 256 MiB", "parameter threads 2 for 1"}
	if got := Differences(b, a); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Differences(a, a); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

package usage

import (
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// A container moves its own memory without page cache, a machine all its monitor holds of it.
func TestMemoryThatAMigrationMoves(t *testing.T) {
	container := &bench.Scope{Cgroups: map[string]string{"unified": "/c"}}
	machine := &bench.Scope{OwnKernel: true, Helpers: process("vmm")}
	nested := &bench.Scope{OwnKernel: true, Helpers: process("vmm"), Inner: container}
	ended := cgroupAt("s", 0.5)
	for i := range ended {
		if ended[i].At >= 20e9 {
			ended[i].Values[bench.ColMemUsed] = 1e6
		}
	}
	machineAt := map[string]float64{"vcpu": 0.5, "iothread": 0, "vmm": 0}
	for name, c := range map[string]struct {
		scope   *bench.Scope
		samples [][]bench.Sample
		want    float64 // 0: not known
	}{
		"container":                         {container, [][]bench.Sample{cgroupAt("s", 0.5)}, 42e6},
		"machine":                           {machine, [][]bench.Sample{agentAt("s", 0.5), helpersAt("s", 200e6, machineAt)}, 200e6},
		"container whose program has ended": {container, [][]bench.Sample{ended}, 42e6},
		"container, nothing read":           {container, nil, 0},
		"container in a machine":            {nested, [][]bench.Sample{agentAt("s", 0.5), helpersAt("s", 200e6, machineAt)}, 0},
		"machine, monitor unknown":          {&bench.Scope{OwnKernel: true}, [][]bench.Sample{agentAt("s", 0.5)}, 0},
	} {
		got := shareOf([]bench.ActorOutcome{subject("s", c.scope)}, append(c.samples, hostAt(1))...).MigrationBytes
		if got.Value != c.want || got.Known != (c.want > 0) {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
	}
}

// A monitor holds more than the guest's memory; what is beyond is not moved.
func TestNoMoreMovesThanIsGiven(t *testing.T) {
	sc := &bench.Scene{ID: "c/p", Actors: []bench.Actor{
		{Role: bench.Subject, Shape: bench.Shape{Memory: 100}}, {Role: bench.Idle, Shape: bench.Shape{Memory: 1000}}}}
	if u := Of(sc, "", []*Launch{{Usage: result.Usage{MigrationBytes: result.Known(150)}}}); u.MigrationBytes.Value != 100 || u.Given != 100 {
		t.Errorf("%v of %v are moved, want 100 of 100", u.MigrationBytes.Value, u.Given)
	}
}

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/plan"
)

// Members are on the platform under test, on CPUs of their own where there are enough, before whatever
// disturbs the cluster.
func TestMembersArePlaced(t *testing.T) {
	const text = "name: x\nplatforms: native, docker\nscenes:\n  - {name: a, workload: sort, shape: {memory: 1GiB}, members: {count: 2, shape: {memory: 2GiB}}, beside: {workload: spin}}"
	p := planned(t, text, inputs(6))
	var actors []string
	for _, a := range p.Scene("a/docker").Actors {
		actors = append(actors, fmt.Sprintf("%s %s %s %s>%s %v %s", a.Name, a.Role, a.Platform, a.Part, a.Serves, a.CPUSet, a.Shape.Memory))
	}
	want := []string{
		"subject subject docker main> [1] 1 GiB", "member member docker worker>subject [2] 2 GiB", "member-2 member docker worker>subject [3] 2 GiB",
		"neighbour neighbour docker main> [4] 1 GiB", "peer peer native helper>subject [5] 1 GiB",
	}
	if d := cmp.Diff(want, actors); d != "" {
		t.Error(d)
	}
	alone := planned(t, "name: x\nscenes:\n  - {name: a, workload: sort, members: 3}", inputs(2)).Scenes[0]
	if alone.Kind != bench.Cluster || alone.Members() != 3 {
		t.Errorf("kind %s with %d members", alone.Kind, alone.Members())
	}
	if one := planned(t, "name: x\nscenes:\n  - {name: a, workload: spin}", inputs(2)).Scenes[0]; alone.Estimate <= one.Estimate {
		t.Errorf("%g s for four launches, %g s for one", alone.Estimate, one.Estimate)
	}
	_, err := plan.Make(read(t, "name: x\nscenes:\n  - {name: a, workload: sort, members: {count: 2, shape: {memory: 1TiB}}}"), inputs(2))
	if err == nil || !strings.Contains(err.Error(), "1 TiB of memory are more than") {
		t.Errorf("members larger than the host: %v", err)
	}
}

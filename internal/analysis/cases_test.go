package analysis

import (
	"testing"

	"tare/internal/bench"
)

// What a case stresses is in the plan; of one made before plans said so, the
// workloads that there were are known.
func TestResourceOf(t *testing.T) {
	scene := func(workload string, kind bench.SceneKind) *bench.Scene {
		return &bench.Scene{Case: "c", Kind: kind, Actors: []bench.Actor{{Role: bench.Subject, Workload: workload}}}
	}
	for _, c := range []struct {
		recorded string
		scene    *bench.Scene
		want     string
	}{
		{"network", scene("warp", bench.One), "network"},
		{"disk", scene("sysbench-cpu", bench.One), "disk"},
		{"", scene("sysbench-cpu", bench.One), "cpu"},
		{"", scene("warp", bench.One), "other"},
		{"", scene("fio", bench.Ramped), "density"},
		{"", scene("fio", bench.Startup), "startup"},
		{"disk", scene("fio", bench.Checkpointing), "migration"},
	} {
		p := &bench.Plan{}
		if c.recorded != "" {
			p.Resources = map[string]string{"c": c.recorded}
		}
		if got := resourceOf(p, c.scene); got != c.want {
			t.Errorf("%s of %s, recorded as %q: %s, want %s", c.scene.Kind, c.scene.Actors[0].Workload, c.recorded, got, c.want)
		}
	}
}

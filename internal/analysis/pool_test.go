package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/result"
)

func TestPoolsAreMediansOfLaunches(t *testing.T) {
	actor := bench.Actor{Role: bench.Subject, Shape: bench.Shape{Memory: 300}}
	sc := &bench.Scene{ID: "a/kvm", Platform: bench.PlatformRef{Name: "kvm"}, MemoryPool: 400, Actors: []bench.Actor{actor, actor}}
	other := &bench.Scene{ID: "b/kvm", Platform: sc.Platform}
	unread := &bench.Scene{ID: "c/lxc", Platform: bench.PlatformRef{Name: "lxc"}, MemoryPool: 400, Actors: []bench.Actor{actor, actor}}
	pooled := &launches{scene: sc, platform: "kvm", label: "emulated"}
	for _, o := range []*bench.Outcome{
		{Pool: &bench.Pool{Used: 390, Swapped: 10}, Actors: []bench.ActorOutcome{
			{Balloon: &bench.Balloon{Target: 200, Actual: 210, MS: 30, Before: 250, After: 240}},
			{Balloon: &bench.Balloon{Target: 200, Actual: 200, MS: 50, Before: 250, After: 255}}, {}}},
		{Pool: &bench.Pool{Used: 400, Swapped: 30, Killed: []string{"subject-2"}}},
		{Pool: &bench.Pool{Used: 395, Swapped: 20}},
		{Pool: &bench.Pool{}}, {}, nil,
	} {
		pooled.asked = append(pooled.asked, launch{outcome: o})
	}
	failed := &launches{scene: unread, platform: "lxc", asked: []launch{{outcome: &bench.Outcome{Pool: &bench.Pool{}}}}}
	want := []result.PoolRow{{Platform: "kvm", Label: "emulated", Ratio: 1.5, Launches: 4, Used: new(395.0), Swapped: new(20.0), Killed: 1,
		Balloon: &result.BalloonRow{Target: 400, Actual: 410, MS: 50, Given: 5}},
		{Platform: "lxc", Ratio: 1.5, Launches: 1}}
	if d := cmp.Diff(want, pools([]*launches{pooled, {scene: other, platform: "kvm"}, failed})); d != "" {
		t.Error(d)
	}
}

package overhead

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

func TestPoolsAreMediansOfLaunches(t *testing.T) {
	actor := bench.Actor{Role: bench.Subject, Shape: bench.Shape{Memory: 300}}
	sc := &bench.Scene{ID: "a/kvm", Platform: bench.PlatformRef{Name: "kvm"}, MemoryPool: 400, Actors: []bench.Actor{actor, actor}}
	other := &bench.Scene{ID: "b/kvm", Platform: sc.Platform}
	s := &study{scenes: map[string][]bench.Trial{}, last: map[string]*bench.Outcome{}, labels: map[string]string{"kvm": "emulated"}}
	for i, o := range []*bench.Outcome{
		{Pool: &bench.Pool{Used: 390, Swapped: 10}, Actors: []bench.ActorOutcome{
			{Balloon: &bench.Balloon{Target: 200, Actual: 210, MS: 30, Before: 250, After: 240}},
			{Balloon: &bench.Balloon{Target: 200, Actual: 200, MS: 50, Before: 250, After: 255}}, {}}},
		{Pool: &bench.Pool{Used: 400, Swapped: 30, Killed: []string{"subject-2"}}},
		{Pool: &bench.Pool{Used: 395, Swapped: 20}},
		{}, nil,
	} {
		id := string(rune('a' + i))
		s.scenes[sc.ID] = append(s.scenes[sc.ID], bench.Trial{ID: id})
		s.last[id] = o
	}
	want := []PoolRow{{Platform: "kvm", Label: "emulated", Ratio: 1.5, Launches: 3, Used: 395, Swapped: 20, Killed: 1,
		Balloon: &BalloonRow{Target: 400, Actual: 410, MS: 50, Given: 5}}}
	if d := cmp.Diff(want, s.pools([]*bench.Scene{sc, other})); d != "" {
		t.Error(d)
	}
}

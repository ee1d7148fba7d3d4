package storetest

import (
	"testing"

	"tare/internal/bench"
)

func TestSyntheticHoldsEveryTrialAndSample(t *testing.T) {
	r := Synthetic(t, t.TempDir(), Options{Blocks: 3, Seconds: 4, Seed: 7, FailEvery: 10, Missing: 2})
	n := 0
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if o.Status == bench.Failed || r.Plan().Scene(o.Scene).Kind == bench.Startup {
			continue
		}
		levels, host := map[bench.Level]int{}, map[string]int{}
		count := func(s *bench.Sample) error {
			levels[s.Level]++
			if s.Level == bench.Host {
				host[s.Meter]++
			}
			return nil
		}
		if err := r.Samples(o.Trial, count); err != nil {
			t.Fatal(err)
		}
		if host["proc"] != 5 || host["tasks"] != 5 || levels[bench.Guest] < 5 || levels[bench.Layer] < 5 {
			t.Errorf("%s: samples by level %v, of the host %v", o.Trial, levels, host)
		}
	}
	if want := len(r.Plan().Trials) - 2; n != want || len(r.Plan().Trials) != 3*7*4 {
		t.Errorf("%d outcomes of %d trials", n, len(r.Plan().Trials))
	}
}

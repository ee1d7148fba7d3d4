package analysis

import (
	"slices"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func TestClocksAreTheWorstOfAPlatform(t *testing.T) {
	r := crafted{metric: throughput, platform: []string{"native", "docker"}, blocks: 3,
		values: map[string][]float64{"native": {1, 1, 1}, "docker": {1, 1, 1}},
		edit: func(o *bench.Outcome) {
			fit := bench.ClockFit{Uncertainty: int64(o.Block) * 1e6, Drift: -2000 * float64(o.Block)}
			if o.Scene == "cpu/docker" && o.Block == 3 {
				fit.Fault = "it moved"
				o.Refused = []bench.Refusal{{Actor: "subject", Level: bench.Guest, What: "x"}, {Level: bench.Host, What: "of the host"}}
			}
			o.Actors[0].Clock = &fit
		}}.write(t)
	got := analyze(t, r).Clocks
	want := []result.ClockRow{
		{Platform: "native", Uncertainty: 3, Drift: 6, Launches: 3},
		{Platform: "docker", Uncertainty: 2, Drift: 4, Launches: 3, Refused: 2, Faults: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRunsWithoutClocksHaveNoRows(t *testing.T) {
	r := crafted{metric: throughput, platform: []string{"native"}, blocks: 1, values: map[string][]float64{"native": {1}}}.write(t)
	if got := analyze(t, r).Clocks; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

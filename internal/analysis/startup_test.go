package analysis

import (
	"maps"
	"testing"

	"tare/internal/bench"
)

func TestStartUpOf(t *testing.T) {
	launch := func(from, create, kernel, agent, command, own int64) *bench.StartUp {
		const ms = 1_000_000
		u := &bench.StartUp{}
		at := from
		for _, p := range []struct {
			name string
			ms   int64
		}{{bench.PhaseCreate, create}, {bench.PhaseKernel, kernel}, {bench.PhaseAgent, agent}, {bench.PhaseCommand, command}} {
			if p.ms > 0 {
				u.Phases = append(u.Phases, bench.Span{Name: p.name, Start: at, End: at + p.ms*ms, Whose: bench.OfPlatform, Source: "x", Known: p.ms})
				at += p.ms * ms
			}
		}
		u.Own = []bench.Span{{Name: "start", Start: from, End: from + own*ms, Whose: bench.OfTare}}
		return u
	}
	row := startUpOf("vm", "emulated", []*bench.StartUp{
		launch(1000, 10, 100, 5, 2, 1), launch(5000, 30, 110, 4, 2, 3), launch(9000, 20, 300, 6, 1, 8),
	})
	if row.Platform != "vm" || row.Label != "emulated" || row.N != 3 {
		t.Errorf("row %+v", row)
	}
	got := map[string]float64{}
	for _, p := range row.Phases {
		got[p.Name] = p.Median
	}
	want := map[string]float64{bench.PhaseCreate: 20, bench.PhaseKernel: 110, bench.PhaseAgent: 5, bench.PhaseCommand: 2}
	if !maps.Equal(got, want) {
		t.Errorf("phases %v, want %v", got, want)
	}
	if row.Phases[1].Known != 300e-6 {
		t.Errorf("the kernel's phase is known to %g ms, want the largest bound", row.Phases[1].Known)
	}
	if row.Total != 146 || row.Own != 3 || row.OwnWorst != 8 || row.OwnParts["start"] != 3 {
		t.Errorf("total %g, own %g, at worst %g, parts %v; want 146, 3, 8, 3", row.Total, row.Own, row.OwnWorst, row.OwnParts)
	}
}

package result

import (
	"math"
	"testing"

	"tare/internal/bench"
)

func TestBalances(t *testing.T) {
	gap := 0.05
	r := Result{Cases: []Case{
		{Name: "cpu", Usage: []Usage{
			{Platform: "native", GuestCPU: Known(1), LayerCPU: Known(0.1), OtherCPU: Known(0.2), BusyCPU: Known(2), Unattributed: Known(0.1), UnattributedShare: &gap, N: 3,
				Actors: map[bench.Role]float64{bench.Peer: 0.4, bench.Idle: 0.2}},
			{Platform: "lxc", GuestCPU: Known(1), N: 1},
		}},
		{Name: "startup"},
	}}
	rows := r.Balances()
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	b := rows[0]
	for what, pair := range map[string][2]float64{
		"others": {b.Actors, 0.6}, "sum": {b.Sum, b.Guest + b.Layer + b.Actors + b.Other}, "sum and gap": {b.Sum, b.Busy * (1 - *b.Gap)},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s: %g, want %g", what, pair[0], pair[1])
		}
	}
	if b.Within(0.04) || !b.Within(0.05) {
		t.Error("a gap of 5 % is within 5 % and not within 4 %")
	}
	gap = -0.05
	if b.Within(0.04) || !b.Within(0.05) {
		t.Error("a gap of -5 % is within 5 % and not within 4 %")
	}
	if rows[1].Gap != nil || rows[1].Sum != 0 || rows[1].Within(1) {
		t.Errorf("a row with a part that was not measured: %+v", rows[1])
	}
}

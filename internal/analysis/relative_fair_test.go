package analysis

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// What changed between the two scenes although nobody asked for it takes the
// ratio back, on that platform only.
func TestRelativeUnfair(t *testing.T) {
	r := besides(t, throughput, map[string][3]float64{
		"alone/native": {100, 100, 100}, "beside/native": {50, 51, 49}, "alone/lxc": {100, 100, 100}, "beside/lxc": {2000, 2100, 2200},
	}, func(o *bench.Outcome) {
		thp := "never"
		if o.Scene == "beside/lxc" {
			thp = "always"
		}
		o.Actors[0].Facts = map[string]string{"thp": thp}
	})
	native, lxc := r.Relative.Rows[0].Cells[0], r.Relative.Rows[1].Cells[0]
	if native.Effect.Verdict != result.Differs || native.Words != "50 %" {
		t.Errorf("%+v", native)
	}
	if lxc.Effect.Verdict != result.Unfair || lxc.Kept != 0 || lxc.High != 0 || lxc.Words != "unfair: huge pages" {
		t.Errorf("%+v, %+v", lxc, lxc.Effect)
	}
	if a := lxc.Against; a.Verdict != result.Unfair || a.Words != "no comparison with native: one of the two is unfair" {
		t.Errorf("%+v", a)
	}
}

// A launch that the time of its own containment ended is no "did not finish".
func TestRelativeOverdue(t *testing.T) {
	r := besides(t, throughput, map[string][3]float64{
		"alone/native": {100, 100, 100}, "bomb/native": {dnf, dnf, dnf}, "alone/lxc": {100, 100, 100}, "bomb/lxc": {dnf, dnf, dnf},
	}, func(o *bench.Outcome) {
		if o.Scene == "alone/native" { // through at the very moment at which the time was over
			o.Watch = &bench.Watch{Overdue: true}
		}
		if o.Scene == "bomb/native" {
			o.Status, o.Watch = bench.Overdue, &bench.Watch{Overdue: true}
		}
	})
	native, lxc := r.Relative.Rows[0].Cells[1], r.Relative.Rows[1].Cells[1]
	if native.Words != "time limit reached 3 of 3" || native.DNF != 0 || native.Overdue != 3 {
		t.Errorf("%+v", native)
	}
	if lxc.Words != "DNF 3 of 3" || lxc.Against.Words == "does not finish where native does" {
		t.Errorf("%+v, %+v", lxc, lxc.Against)
	}
	// The row of the case, the header's counts and the list of launches say the same.
	if r.Trials.Overdue != 3 || r.Trials.DNF != 3 || len(r.Overdue) != 3 || len(r.Unfinished) != 3 || r.Trials.Missing != 6 {
		t.Errorf("%+v, %d overdue, %d did not finish", r.Trials, len(r.Overdue), len(r.Unfinished))
	}
	for _, row := range r.Cases[2].Rows {
		dnf, overdue := 3, 0
		if row.Baseline {
			dnf, overdue = 0, 3
		}
		if row.DNF != dnf || row.Overdue != overdue {
			t.Errorf("%s: %d did not finish, %d overdue", row.Platform, row.DNF, row.Overdue)
		}
	}
	if w := r.Watches; len(w) != 2 || w[0].Overdue != 0 || w[1].Overdue != 3 {
		t.Errorf("%+v", w)
	}
	if a := r.Cases[2].Answer; !strings.Contains(a, "native: no launch finished, the containment's time limit was reached in 3") {
		t.Error(a)
	}
}

// A platform wears that it ignores limits, and the table says what its launches found.
func TestRelativeCaveats(t *testing.T) {
	r := besides(t, throughput, map[string][3]float64{"alone/lxc": {100, 100, 100}, "beside/lxc": {80, 80, 80}}, func(o *bench.Outcome) {
		o.Actors[0].Version, o.Actors[0].Caveats, o.Actors[0].Unenforced = "1", []string{"limits ignored: not root"}, []string{"memory"}
	})
	i := slices.IndexFunc(r.Relative.Rows, func(row result.MatrixRow) bool { return row.Platform == "lxc" })
	row := r.Relative.Rows[i]
	if row.Label != "limits ignored" || !slices.Equal(row.Caveats, []string{"limits ignored: not root", "not enforced: memory"}) {
		t.Errorf("%+v", row)
	}
	if c := row.Cells[0].Effect.Caution; c != "limits ignored: not measured like the others" {
		t.Error(c)
	}
	if got := wearing("emulated (tcg)", []string{"limits ignored"}); got != "emulated (tcg), limits ignored" {
		t.Error(got)
	}
}

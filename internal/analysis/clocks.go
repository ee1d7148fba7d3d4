package analysis

import (
	"cmp"
	"math"

	"tare/internal/bench"
	"tare/internal/result"
)

// clocks says how well the clocks inside were known, by platform in the
// plan's order. A clock at fault is counted and says nothing of the others' bounds.
func clocks(trials []launch, platforms []result.Platform) []result.ClockRow {
	rows := map[string]*result.ClockRow{}
	row := func(platform string) *result.ClockRow {
		if rows[platform] == nil {
			rows[platform] = &result.ClockRow{Platform: platform}
		}
		return rows[platform]
	}
	for _, t := range trials {
		if t.outcome != nil {
			clocksOf(t.outcome, t.scene.Platform.String(), row)
		}
	}
	var all []result.ClockRow
	for _, p := range platforms {
		if r := rows[p.Name]; r != nil {
			all = append(all, *r)
		}
	}
	return all
}

// clocksOf books one outcome. What was refused of the host is booked on the
// platform that was measured.
func clocksOf(o *bench.Outcome, measured string, row func(platform string) *result.ClockRow) {
	platform := map[string]string{}
	for i := range o.Actors {
		a := &o.Actors[i]
		platform[a.Actor] = a.Platform.String()
		if a.Clock == nil {
			continue
		}
		r := row(platform[a.Actor])
		r.Launches++
		if a.Clock.Fault != "" {
			r.Faults++
			continue
		}
		r.Uncertainty = max(r.Uncertainty, float64(a.Clock.Uncertainty)/1e6)
		r.Drift = max(r.Drift, math.Abs(a.Clock.Drift)/1e3)
	}
	for _, refused := range o.Refused {
		row(cmp.Or(platform[refused.Actor], measured)).Refused++
	}
}

package analysis

import (
	"slices"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// pools are the rows of a case whose instances share a pool of memory.
func pools(scenes []*launches) []result.PoolRow {
	var rows []result.PoolRow
	for _, l := range scenes {
		if l.scene.MemoryPool == 0 {
			continue
		}
		row := result.PoolRow{Platform: l.platform, Label: l.label, Ratio: l.scene.MemoryRatio()}
		var used, swapped []float64
		var balloons []result.BalloonRow
		for _, t := range l.asked {
			o := t.outcome
			if o == nil || o.Pool == nil {
				continue
			}
			row.Launches++
			if o.Pool.Used > 0 {
				used, swapped = append(used, float64(o.Pool.Used)), append(swapped, float64(o.Pool.Swapped))
			}
			if len(o.Pool.Killed) > 0 {
				row.Killed++
			}
			if b, ok := balloonsOf(o); ok {
				balloons = append(balloons, b)
			}
		}
		if row.Launches == 0 {
			continue
		}
		if len(used) > 0 {
			u, s := stats.Median(used), stats.Median(swapped)
			row.Used, row.Swapped = &u, &s
		}
		if len(balloons) > 0 {
			median := func(of func(result.BalloonRow) float64) float64 {
				var all []float64
				for _, b := range balloons {
					all = append(all, of(b))
				}
				return stats.Median(all)
			}
			row.Balloon = &result.BalloonRow{
				Target: median(func(b result.BalloonRow) float64 { return b.Target }), Actual: median(func(b result.BalloonRow) float64 { return b.Actual }),
				MS: median(func(b result.BalloonRow) float64 { return b.MS }), Given: median(func(b result.BalloonRow) float64 { return b.Given }),
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// balloonsOf adds a launch's balloons up.
func balloonsOf(o *bench.Outcome) (sum result.BalloonRow, any bool) {
	any = slices.ContainsFunc(o.Actors, func(a bench.ActorOutcome) bool { return a.Balloon != nil })
	for _, a := range o.Actors {
		if b := a.Balloon; b != nil {
			sum.Target += float64(b.Target)
			sum.Actual += float64(b.Actual)
			sum.MS = max(sum.MS, b.MS)
			sum.Given += float64(b.Before - b.After)
		}
	}
	return sum, any
}

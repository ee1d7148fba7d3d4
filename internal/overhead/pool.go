package overhead

import (
	"slices"

	"tare/internal/bench"
	"tare/internal/stats"
)

// PoolRow is how a platform's instances fared in a scene's pool of memory, by
// the medians of its launches. Sizes in bytes.
type PoolRow struct {
	Platform string  `json:"platform"`
	Label    string  `json:"label,omitempty"`
	Ratio    float64 `json:"ratio"` // memory of the instances by that of the pool
	Launches int     `json:"launches"`
	// Used is the most of the pool, from the first launch on, Swapped the most in
	// swap space; both nil where no launch lasted long enough for a reading.
	Used    *float64 `json:"used,omitempty"`
	Swapped *float64 `json:"swapped,omitempty"`
	// Killed are the launches in which the kernel killed something for want of memory.
	Killed  int         `json:"killed,omitempty"`
	Balloon *BalloonRow `json:"balloon,omitempty"`
}

// BalloonRow is how all instances of a launch together gave memory back.
type BalloonRow struct {
	Target float64 `json:"target"`     // what they were asked to make do with
	Actual float64 `json:"actual"`     // what they had when it had settled
	MS     float64 `json:"ms"`         // of the slowest, until then
	Given  float64 `json:"given_back"` // by how much their monitors' memory fell
}

// pools are the rows of a case whose instances share a pool of memory.
func (s *study) pools(scenes []*bench.Scene) []PoolRow {
	var rows []PoolRow
	for _, sc := range scenes {
		if sc.MemoryPool == 0 {
			continue
		}
		row := PoolRow{Platform: sc.Platform.String(), Label: s.labels[sc.Platform.String()], Ratio: sc.MemoryRatio()}
		var used, swapped []float64
		var balloons []BalloonRow
		for _, t := range s.scenes[sc.ID] {
			o := s.last[t.ID]
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
			median := func(of func(BalloonRow) float64) float64 {
				var all []float64
				for _, b := range balloons {
					all = append(all, of(b))
				}
				return stats.Median(all)
			}
			row.Balloon = &BalloonRow{
				Target: median(func(b BalloonRow) float64 { return b.Target }), Actual: median(func(b BalloonRow) float64 { return b.Actual }),
				MS: median(func(b BalloonRow) float64 { return b.MS }), Given: median(func(b BalloonRow) float64 { return b.Given }),
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// balloonsOf adds a launch's balloons up.
func balloonsOf(o *bench.Outcome) (sum BalloonRow, any bool) {
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

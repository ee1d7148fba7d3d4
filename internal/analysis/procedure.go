package analysis

import (
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// procedure is how long each phase took per platform, over finished launches
// that had a workload; of start-up and migration scenes where there are no others.
func procedure(scenes []*launches, platforms []result.Platform) []result.ProcedureRow {
	var rows []result.ProcedureRow
	for _, p := range platforms {
		work, start := map[string][]float64{}, map[string][]float64{}
		for _, l := range scenes {
			if l.platform != p.Name {
				continue
			}
			into := work
			if kind := l.scene.Kind; !kind.Sampled() || kind == bench.Ramped {
				into = start
			}
			for _, o := range l.done {
				for name, seconds := range phases(o) {
					into[name] = append(into[name], seconds)
				}
			}
		}
		if len(work) == 0 {
			work = start
		}
		row := result.ProcedureRow{Platform: p.Name, Phases: map[string]float64{}, N: len(work[""])}
		if row.N == 0 {
			continue
		}
		for name, seconds := range work {
			if name == "" {
				row.Overhead = stats.Median(seconds)
			} else {
				row.Phases[name] = stats.Median(seconds)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// phases sums the seconds of each phase; under "" is the time that was neither
// warm-up, measurement nor cool-down.
func phases(o *bench.Outcome) map[string]float64 {
	out := map[string]float64{"": 0}
	for _, p := range o.Phases {
		seconds := float64(p.End-p.Start) / 1e9
		out[p.Name] += seconds
		switch p.Name {
		case "warmup", "measure", "cooldown":
		default:
			out[""] += seconds
		}
	}
	return out
}

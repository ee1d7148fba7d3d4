package analysis

import (
	"slices"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// startUps has a row for each scene whose launches were traced.
func startUps(scenes []*launches) []result.StartUp {
	var rows []result.StartUp
	for _, l := range scenes {
		var traced []*bench.StartUp
		for _, o := range l.done {
			for _, a := range o.Actors {
				if a.Role == bench.Subject && a.StartUp != nil && len(a.StartUp.Phases) > 0 {
					traced = append(traced, a.StartUp)
				}
			}
		}
		if len(traced) > 0 {
			rows = append(rows, startUpOf(l.platform, l.label, traced))
		}
	}
	return rows
}

func startUpOf(platform, label string, traced []*bench.StartUp) result.StartUp {
	row := result.StartUp{Platform: platform, Label: label, N: len(traced), OwnParts: map[string]float64{}}
	median := func(of func(*bench.StartUp) int64) float64 {
		var ms []float64
		for _, u := range traced {
			ms = append(ms, inMilliseconds(of(u)))
		}
		return stats.Median(ms)
	}
	for _, name := range bench.LaunchPhases {
		p := result.LaunchPhase{Name: name}
		found := false
		for _, u := range traced {
			for _, span := range u.Phases {
				if span.Name == name {
					found, p.Whose, p.Source = true, span.Whose, span.Source
					p.Known = max(p.Known, inMilliseconds(span.Known))
				}
			}
		}
		if found {
			p.Median = median(func(u *bench.StartUp) int64 { return u.Phase(name) })
			row.Phases = append(row.Phases, p)
		}
	}
	row.Total = median(func(u *bench.StartUp) int64 { return u.Phases[len(u.Phases)-1].End - u.Phases[0].Start })
	row.Own = median((*bench.StartUp).OwnTime)
	var parts []string
	for _, u := range traced {
		row.OwnWorst = max(row.OwnWorst, inMilliseconds(u.OwnTime()))
		for _, o := range u.Own {
			if !slices.Contains(parts, o.Name) {
				parts = append(parts, o.Name)
			}
		}
	}
	for _, name := range parts {
		row.OwnParts[name] = median(func(u *bench.StartUp) (sum int64) {
			for _, o := range u.Own {
				if o.Name == name {
					sum += o.End - o.Start
				}
			}
			return sum
		})
	}
	return row
}

func inMilliseconds(ns int64) float64 { return float64(ns) / 1e6 }

package analysis

import (
	"slices"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// watches are what the watchdogs found, a row for each scene that had one.
func watches(scenes []*launches) []result.HostWatch {
	var rows []result.HostWatch
	for _, l := range scenes {
		row := result.HostWatch{Case: l.scene.Case, Title: l.scene.Title, Platform: l.platform, Label: l.label}
		var all []float64
		for _, t := range l.asked {
			o := t.outcome
			if o == nil || o.Watch == nil {
				continue
			}
			w := o.Watch
			all = append(all, w.Starts...)
			if row.Launches++; row.Launches == 1 || w.Available < row.Available {
				row.Available = w.Available
			}
			row.OOMInside += w.OOMInside
			row.OOM += w.OOM
			row.Peak = max(row.Peak, w.Peak)
			row.Died = append(row.Died, w.Died...)
			if w.Ended != "" {
				row.Ended = append(row.Ended, t.ID+": "+w.Ended)
			}
			if o.Status == bench.Overdue { // a subject that was through at that very moment is not
				row.Overdue++
			}
		}
		if row.Launches == 0 {
			continue
		}
		if row.Starts = len(all); row.Starts > 0 {
			slices.Sort(all)
			row.P50, row.P99, row.Max = stats.Nearest(all, 0.5), stats.Nearest(all, 0.99), all[len(all)-1]
		}
		rows = append(rows, row)
	}
	return rows
}

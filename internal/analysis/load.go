package analysis

import (
	"fmt"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// loadBusyLimit is the share of its CPUs above which a load side may itself be what limits a figure.
const loadBusyLimit = 0.85

// loadBusy is the share of their CPUs' time that the peers used whose programs loaded the subjects,
// of the busiest one in the median launch; 0 where no peer did, or none whose CPU time is a sign of it.
func (l *launches) loadBusy() float64 {
	var each []float64
	for _, o := range l.done {
		busiest := 0.0
		for _, a := range o.Actors {
			if a.Role != bench.Peer || a.Polls || a.Output == nil || a.Output.Wall <= 0 || len(a.CPUSet) == 0 {
				continue
			}
			used := float64(a.Output.User+a.Output.System) / float64(a.Output.Wall)
			busiest = max(busiest, used/float64(len(a.CPUSet)))
		}
		if busiest > 0 {
			each = append(each, busiest)
		}
	}
	if len(each) == 0 {
		return 0
	}
	return stats.Median(each)
}

// tellLoad says in a platform's row, and in its effect, that the load side was busy on either side of
// the comparison.
func tellLoad(row *result.Row, own, base float64, baseline string) {
	row.LoadBusy = own
	said := loadCaution("its", own)
	if said != "" {
		row.Warnings = append(row.Warnings, said)
	}
	if row.Effect == nil {
		return
	}
	if said == "" {
		said = loadCaution(baseline+"'s", base)
	}
	if said != "" {
		row.Effect.Loaded = said
	}
}

// loadCaution is what a figure wears whose load side was busier than the limit.
func loadCaution(whose string, busy float64) string {
	if busy <= loadBusyLimit {
		return ""
	}
	return fmt.Sprintf("%s load side was busy for %.0f %% of its CPU time and may be the limit", whose, busy*100)
}

package analysis

import (
	"fmt"
	"slices"

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
			if a.Role != bench.Peer || a.Polls || a.Output == nil || a.Output.Wall <= 0 {
				continue
			}
			cpus := len(a.CPUSet)
			if cpus == 0 { // it runs on another host, kept on these
				cpus = a.CPUsSeen
			}
			if cpus == 0 {
				continue
			}
			used := float64(a.Output.User+a.Output.System) / float64(a.Output.Wall)
			busiest = max(busiest, used/float64(cpus))
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

// A loadSide is what of the load side may limit a platform's figures.
type loadSide struct {
	busy float64 // see [launches.loadBusy]
	// held is the median of what the load program says of its rate, in percent, and least from where on it
	// was held; both are 0 where it says nothing.
	held, least float64
}

// loadSide is that of the launches that finished.
func (l *launches) loadSide(metrics []bench.Metric) loadSide {
	side := loadSide{busy: l.loadBusy()}
	i := slices.IndexFunc(metrics, func(m bench.Metric) bool { return m.Least > 0 })
	if i < 0 {
		return side
	}
	var each []float64
	for _, o := range l.done {
		for _, v := range o.Values {
			if v.Metric == metrics[i].Name {
				each = append(each, v.Value)
			}
		}
	}
	if len(each) > 0 {
		side.held, side.least = stats.Median(each), metrics[i].Least
	}
	return side
}

// tellLoad says in a platform's row, and in its effect, that the load side may be the limit on either
// side of the comparison.
func tellLoad(row *result.Row, own, base loadSide, baseline string) {
	row.LoadBusy = own.busy
	said := own.caution("its")
	if said != "" {
		row.Warnings = append(row.Warnings, said)
	}
	if row.Effect == nil {
		return
	}
	if said == "" {
		said = base.caution(baseline + "'s")
	}
	if said != "" {
		row.Effect.Loaded = said
	}
}

// caution is what a figure wears whose load side did not hold its rate, or was busier than the limit.
func (s loadSide) caution(whose string) string {
	switch {
	case s.held < s.least:
		return fmt.Sprintf("%s load side asked at %.1f %% of its rate and may be the limit", whose, s.held)
	case s.busy > loadBusyLimit:
		return fmt.Sprintf("%s load side was busy for %.0f %% of its CPU time and may be the limit", whose, s.busy*100)
	}
	return ""
}

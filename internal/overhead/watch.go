package overhead

import (
	"slices"

	"tare/internal/bench"
	"tare/internal/stats"
)

// HostWatch is how usable the host was while something in a case meant harm,
// over all launches.
type HostWatch struct {
	Case     string `json:"case"`
	Title    string `json:"title"`
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// P50, P99 and Max are of the time in which the host started a program,
	// milliseconds, over all Starts of all launches together; P99 is the smallest start not below 99 of 100.
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
	Starts int     `json:"starts"`
	// Available is the least memory there was for new programs, in bytes.
	Available bench.Bytes `json:"available"`
	OOMInside int         `json:"oom_inside"`  // processes killed for want of memory in the cages
	OOM       int         `json:"oom_outside"` // and elsewhere on the host, by whatever
	Peak      int         `json:"pids_peak"`
	// Died are processes older than a minute that were gone at the end, of themselves or not.
	Died     []string `json:"died,omitempty"`
	Ended    []string `json:"ended,omitempty"` // why the watchdog ended launches
	Overdue  int      `json:"overdue,omitempty"`
	Launches int      `json:"launches"`
}

// watches gathers what the watchdogs found, a row for each scene that had one.
func (s *study) watches() {
	for i := range s.plan.Scenes {
		sc := &s.plan.Scenes[i]
		name := sc.Platform.String()
		row := HostWatch{Case: sc.Case, Title: sc.Title, Platform: name, Label: s.labels[name]}
		var all []float64
		for _, t := range s.scenes[sc.ID] {
			o := s.last[t.ID]
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
		s.result.Watches = append(s.result.Watches, row)
	}
}

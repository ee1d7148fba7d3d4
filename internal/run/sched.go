package run

import (
	"tare/internal/bench"
	"tare/internal/meter/sched"
)

// openSched opens what the host's scheduler tells of every domain of the scene.
// Peers are none: they stand for other machines. Nor is what runs in a cage, where
// tasks may come and go by the thousand. What cannot be had is said with the outcome.
func (x *trial) openSched(s *sampler) {
	m, err := sched.Open("/proc")
	if err != nil {
		x.warn("executions are not counted: %v", err)
		return
	}
	s.sched = m
	for _, a := range x.actors {
		scope := a.outcome.Scope
		if a.Role == bench.Peer || a.cage != nil || scope.Domain != 0 || len(scope.Cgroups) == 0 {
			continue
		}
		r, err := m.Watch(*scope)
		if err != nil {
			x.warn("executions of %s are not counted: %v", a.Name, err)
			continue
		}
		cols := r.Columns()
		s.edges = append(s.edges, source{r, a.Name, cols, make([]float64, len(cols))})
	}
	if err := m.Uncounted(); err != nil {
		x.warn("executions of tasks that ended in the window are not counted: %v", err)
	}
}

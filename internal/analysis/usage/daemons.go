package usage

import (
	"maps"
	"slices"

	"tare/internal/bench"
)

// A daemon is a part that serves all instances of a platform.
type daemon struct{ platform, part string }

// Idle is the CPU in cores that daemons use for nobody.
type Idle map[daemon]float64

// IdleDaemons is the CPU in cores that daemons use while their platform has no
// instance: over all trials of other platforms in which they were read, weighted by time.
func IdleDaemons(read map[string]Sources) Idle {
	used, seconds := map[daemon]float64{}, map[daemon]float64{}
	for _, trial := range slices.Sorted(maps.Keys(read)) {
		for src, t := range read[trial] {
			platform, ok := bench.DaemonsIn(src.Meter)
			if !ok || t.lastAt <= t.firstAt {
				continue
			}
			for _, column := range t.columns {
				part, ok := bench.PartOf(column)
				if grown := t.Growth(column); ok && grown != nil && *grown >= 0 {
					d := daemon{platform, part}
					used[d] += *grown
					seconds[d] += float64(t.lastAt-t.firstAt) / 1e9
				}
			}
		}
	}
	for d := range used {
		used[d] /= seconds[d]
	}
	return used
}

// idling is what of a daemon's CPU time it would have used for nobody, all of
// it at most. It is booked with the rest of the host, where that of daemons
// belongs that serve nobody.
func (s *Launch) idling(d daemon, used float64) float64 {
	v, known := s.idle[d]
	if !known {
		s.note("what %s's %s uses when idle was not measured: its share is all it used", d.platform, d.part)
		return 0
	}
	v = min(v, used)
	s.IdleDaemons[d.part] += v
	return v
}

package plan

import (
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
)

// What a cage holds where nothing is written, and what the host keeps at least.
const (
	// cagePids is enough for a fork bomb to hurt and few enough to be killed within a second.
	cagePids = 1000
	// hostPids: the cages of a scene get at most this share of the host's tasks.
	hostPids = 4
	// hostMemory: at least this share of the host's memory belongs to nobody in the scene.
	hostMemory = 8
	// cageRoom is what a monitor, a runtime or a shim needs beside its instance's memory.
	cageRoom = 256 * bench.MiB
	// nestedRoom is what an outer guest needs beyond that.
	nestedRoom = 3 * bench.GiB
	// cageTime is added to twice the time that the scene takes undisturbed.
	cageTime = 15 * time.Second
	// cageSlack is what a written time must leave beyond that: programs take time to start and to end.
	cageSlack = time.Second
)

// caged reports whether the actor runs inside an outer cage.
func (m *maker) caged(a spec.Actor) bool {
	if a.Cage != nil {
		return true
	}
	w := m.Words.Workload(a.Workload)
	return w != nil && bench.IsAdversary(w)
}

// cage are the limits of the actor's outer cage on a platform.
func (m *maker) cage(a spec.Actor, on bench.PlatformRef) *bench.Cage {
	c := bench.Cage{}
	if a.Cage != nil {
		c = *a.Cage
	}
	if c.Pids == 0 {
		c.Pids = cagePids
		if m.Host.Pids > 0 {
			c.Pids = min(c.Pids, m.Host.Pids/hostPids)
		}
	}
	if c.Memory == 0 {
		c.Memory = a.Shape.Memory + a.Shape.Memory/4 + cageRoom
		if on.On != nil {
			c.Memory += nestedRoom
		}
	}
	return &c
}

// checkCages sees that the cages of a scene leave the host its share.
func (m *maker) checkCages(s spec.Scene) (errs spec.Errors) {
	pids, memory := 0, bench.Bytes(0)
	var caged []spec.Places
	for _, a := range s.Actors {
		n := instances(s, a)
		if !m.caged(a) {
			memory += bench.Bytes(n) * a.Shape.Memory
			continue
		}
		caged = append(caged, a.Places)
		on := bench.PlatformRef{}
		if a.Platform != nil {
			on = *a.Platform
		}
		c := m.cage(a, on)
		pids += n * c.Pids
		memory += bench.Bytes(n) * c.Memory
	}
	if len(caged) == 0 {
		return nil
	}
	at := func(key string) spec.Place {
		for _, places := range caged {
			if p, ok := places["cage."+key]; ok {
				return p
			}
		}
		return caged[0].At("workload")
	}
	if most := m.Host.Pids / hostPids; most > 0 && pids > most {
		errs = append(errs, at("pids").Errorf("%d tasks in cages are more than a quarter of the %d this host can have%w", pids, m.Host.Pids,
			bench.Hint("write fewer: cage: {pids: 500}")))
	}
	if most := m.Host.Memory - m.Host.Memory/hostMemory; most > 0 && memory > most {
		errs = append(errs, at("memory").Errorf("cages and instances of %s together leave the host less than an eighth of its %s%w", memory, m.Host.Memory,
			bench.Hint("give the instances less memory: the host must stay usable beside a neighbour that means harm")))
	}
	return errs
}

// checkCageTime sees that the cages that were written stand as long as the
// scene's work takes undisturbed: no platform could finish in a shorter one.
func (m *maker) checkCageTime(s spec.Scene) (errs spec.Errors) {
	work := m.undisturbed(s)
	for _, a := range s.Actors {
		if a.Cage != nil && a.Cage.Time > 0 && a.Cage.Time < work+cageSlack {
			errs = append(errs, a.Places.At("cage.time").Errorf("scene %s: a cage of %s is over too soon: warm-up and measuring take %s undisturbed, and starting and ending programs up to %s more%w",
				s.Name, a.Cage.Time, work, cageSlack, bench.Hint("give it longer, or leave time out: twice what the scene takes, and 15 s")))
		}
	}
	return errs
}

// narrow says which written time of a cage may be over before emulated work, of
// such a length, is through.
func narrow(s bench.Scene, work time.Duration) []string {
	for _, a := range s.Actors {
		if a.Cage != nil && a.Cage.Time > 0 && a.Cage.Time < work {
			return []string{fmt.Sprintf("on %s the cage's time of %s may be over before the subject is through: what is emulated takes up to %d times as long, here %s", s.Platform, a.Cage.Time, slowly, work)}
		}
	}
	return nil
}

// lock puts the cages' time into a scene that was built: work is how long it
// runs undisturbed.
func lock(s *bench.Scene, work time.Duration) {
	for _, a := range s.Actors {
		if a.Cage != nil && a.Cage.Time == 0 {
			a.Cage.Time = (2*work + cageTime).Round(time.Second)
		}
	}
}

// slowly is how many times longer work may take where it is emulated.
const slowly = 4

// undisturbed is how long the subjects' work takes, from the first preparing
// command to the end of the measured one.
func (m *maker) undisturbed(s spec.Scene) time.Duration {
	var work time.Duration
	for _, a := range s.Actors {
		if a.Role != bench.Subject {
			continue
		}
		w := m.Words.Workload(a.Workload)
		if e, ok := w.(Estimator); ok {
			work = max(work, e.Estimate(a.Params, m.setting(s.Timing, a.Shape, w)))
		} else {
			work = max(work, s.Timing.Warmup+s.Timing.Measure)
		}
	}
	return work
}

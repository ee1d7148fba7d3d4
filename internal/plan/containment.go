package plan

import (
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
)

// What a containment holds where nothing is written, and what the host keeps at least.
const (
	// containmentPids is enough for a fork bomb to hurt and few enough to be killed within a second.
	containmentPids = 1000
	// hostPids: the containments of a scene get at most this share of the host's tasks.
	hostPids = 4
	// hostMemory: at least this share of the host's memory belongs to nobody in the scene.
	hostMemory = 8
	// containmentRoom is what a monitor, a runtime or a shim needs beside its instance's memory.
	containmentRoom = 256 * bench.MiB
	// nestedRoom is what an outer guest needs beyond that.
	nestedRoom = 3 * bench.GiB
	// containmentTime is added to twice the time that the scene takes undisturbed.
	containmentTime = 15 * time.Second
	// containmentSlack is what a written time must leave beyond that: programs take time to start and to end.
	containmentSlack = time.Second
)

// contained reports whether the actor runs inside a containment.
func (m *maker) contained(a spec.Actor) bool {
	if a.Containment != nil {
		return true
	}
	w := m.Words.Workload(a.Workload)
	return w != nil && bench.IsAdversary(w)
}

// containment are the limits of the actor's containment on a platform.
func (m *maker) containment(a spec.Actor, on bench.PlatformRef) *bench.Containment {
	c := bench.Containment{}
	if a.Containment != nil {
		c = *a.Containment
	}
	if c.Pids == 0 {
		c.Pids = containmentPids
		if m.Host.Pids > 0 {
			c.Pids = min(c.Pids, m.Host.Pids/hostPids)
		}
	}
	if c.Memory == 0 {
		c.Memory = a.Shape.Memory + a.Shape.Memory/4 + containmentRoom
		if on.On != nil {
			c.Memory += nestedRoom
		}
	}
	return &c
}

// checkContainments sees that the containments of a scene leave the host its share.
func (m *maker) checkContainments(s spec.Scene) (errs spec.Errors) {
	pids, memory := 0, bench.Bytes(0)
	var contained []spec.Places
	for _, a := range s.Actors {
		n := instances(s, a)
		if !m.contained(a) {
			memory += bench.Bytes(n) * a.Shape.Memory
			continue
		}
		contained = append(contained, a.Places)
		on := bench.PlatformRef{}
		if a.Platform != nil {
			on = *a.Platform
		}
		c := m.containment(a, on)
		pids += n * c.Pids
		memory += bench.Bytes(n) * c.Memory
	}
	if len(contained) == 0 {
		return nil
	}
	at := func(key string) spec.Place {
		for _, places := range contained {
			if p, ok := places["containment."+key]; ok {
				return p
			}
		}
		return contained[0].At("workload")
	}
	if most := m.Host.Pids / hostPids; most > 0 && pids > most {
		errs = append(errs, at("pids").Errorf("%d tasks in containments are more than a quarter of the %d this host can have%w", pids, m.Host.Pids,
			bench.Hint("write fewer: containment: {pids: 500}")))
	}
	if most := m.mostMemory(); most > 0 && memory > most {
		errs = append(errs, at("memory").Errorf("containments and instances of %s together leave the host less than an eighth of its %s%w", memory, m.Host.Memory,
			bench.Hint("give the instances less memory: the host must stay usable beside an adversarial neighbour")))
	}
	return errs
}

// checkContainmentTime sees that the containments that were written stand as long as the
// scene's work takes undisturbed: no platform could finish in a shorter one.
func (m *maker) checkContainmentTime(s spec.Scene) (errs spec.Errors) {
	work := m.undisturbed(s)
	for _, a := range s.Actors {
		if a.Containment != nil && a.Containment.Time > 0 && a.Containment.Time < work+containmentSlack {
			errs = append(errs, a.Places.At("containment.time").Errorf("scene %s: a containment of %s ends too soon: warm-up and measuring take %s undisturbed, and starting and ending programs up to %s more%w",
				s.Name, a.Containment.Time, work, containmentSlack, bench.Hint("give it longer, or leave time out: twice what the scene takes, and 15 s")))
		}
	}
	return errs
}

// narrow says which written time of a containment may be over before emulated work, of
// such a length, is through.
func narrow(s bench.Scene, work time.Duration) []string {
	for _, a := range s.Actors {
		if a.Containment != nil && a.Containment.Time > 0 && a.Containment.Time < work {
			return []string{fmt.Sprintf("on %s the containment's time limit of %s may be reached before the subject is through: what is emulated takes up to %d times as long, here %s", s.Platform, a.Containment.Time, slowly, work)}
		}
	}
	return nil
}

// lock puts the containments' time into a scene that was built: work is how long it
// runs undisturbed.
func lock(s *bench.Scene, work time.Duration) {
	for _, a := range s.Actors {
		if a.Containment != nil && a.Containment.Time == 0 {
			a.Containment.Time = (2*work + containmentTime).Round(time.Second)
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
		if e, ok := m.Words.Workload(a.Workload).(Estimator); ok {
			work = max(work, e.Estimate(a.Params, m.setting(s, a)))
		} else {
			work = max(work, s.Timing.Warmup+s.Timing.Measure)
		}
	}
	return work
}

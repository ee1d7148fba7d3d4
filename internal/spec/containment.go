package spec

import (
	"time"

	"tare/internal/bench"
)

var containmentKeys = []string{"pids", "memory", "time"}

// leastContainment is the smallest task limit with which a platform's own programs start.
const leastContainment = 64

// containment reads the limits of an actor's containment. The planner chooses those left out.
func (d *decoder) containment(n *node, a *Actor) {
	if n == nil {
		return
	}
	c := bench.Containment{}
	f := d.fields(n, "containment", containmentKeys)
	d.integer(f["pids"], leastContainment, 1<<22, &c.Pids)
	d.size(f["memory"], &c.Memory)
	d.duration(f["time"], time.Second, &c.Time)
	for key, value := range f {
		a.Places["containment."+key] = value.place
	}
	if c.Memory > 0 && c.Memory < a.Shape.Memory {
		d.fail(a.Places.At("containment.memory"), "a containment of %s has no room for an instance of %s", c.Memory, a.Shape.Memory)
	}
	a.Containment = &c
}

// tame refuses an adversarial workload as the subject, unless its actor has a containment.
func (d *decoder) tame(a *Actor) {
	w := d.words.Workload(a.Workload)
	if w == nil || a.Role != bench.Subject || a.Containment != nil || !bench.IsAdversary(w) {
		return
	}
	d.fail(a.Places.At("workload"), "%s is adversarial: it cannot be the subject without a containment%w", w.Name(),
		bench.Hint("put it beside another: beside: {workload: "+w.Name()+", ...}; or write the actor out, with containment: {pids: 500}"))
}

// notContained refuses a containment in a pool of memory. Both are control groups around the
// instance, and only one is supported.
func (d *decoder) notContained(s *Scene, a *Actor) {
	w := d.words.Workload(a.Workload)
	if s.MemoryPool == 0 || a.Containment == nil && (w == nil || !bench.IsAdversary(w)) {
		return
	}
	d.fail(s.Places.At("memory_pool"), "%s is in a containment, which cannot be inside a pool of memory%w", a.Name,
		bench.Hint("remove memory_pool or the adversarial neighbour"))
}

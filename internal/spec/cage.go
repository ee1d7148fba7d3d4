package spec

import (
	"time"

	"tare/internal/bench"
)

var cageKeys = []string{"pids", "memory", "time"}

// leastCage is the fewest tasks with which a platform's own programs start.
const leastCage = 64

// cage reads the limits of an actor's outer cage; what is left out is the planner's to choose.
func (d *decoder) cage(n *node, a *Actor) {
	if n == nil {
		return
	}
	c := bench.Cage{}
	f := d.fields(n, "cage", cageKeys)
	d.integer(f["pids"], leastCage, 1<<22, &c.Pids)
	d.size(f["memory"], &c.Memory)
	d.duration(f["time"], time.Second, &c.Time)
	for key, value := range f {
		a.Places["cage."+key] = value.place
	}
	if c.Memory > 0 && c.Memory < a.Shape.Memory {
		d.fail(a.Places.At("cage.memory"), "a cage of %s has no room for an instance of %s", c.Memory, a.Shape.Memory)
	}
	a.Cage = &c
}

// tame refuses a workload that means harm where it would be what is measured,
// unless a cage was written for it.
func (d *decoder) tame(a *Actor) {
	w := d.words.Workload(a.Workload)
	if w == nil || a.Role != bench.Subject || a.Cage != nil || !bench.IsAdversary(w) {
		return
	}
	d.fail(a.Places.At("workload"), "%s means harm: it cannot be the subject without a cage%w", w.Name(),
		bench.Hint("put it beside another: beside: {workload: "+w.Name()+", ...}; or write the actor out, with cage: {pids: 500}"))
}

// notCaged refuses an outer cage in a pool of memory: each is a control group
// around the instance, and one is enough.
func (d *decoder) notCaged(s *Scene, a *Actor) {
	w := d.words.Workload(a.Workload)
	if s.MemoryPool == 0 || a.Cage == nil && (w == nil || !bench.IsAdversary(w)) {
		return
	}
	d.fail(s.Places.At("memory_pool"), "%s is in an outer cage, which cannot lie in a pool of memory%w", a.Name,
		bench.Hint("leave memory_pool out, or the neighbour that means harm"))
}

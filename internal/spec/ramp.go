package spec

import (
	"slices"
	"time"

	"tare/internal/bench"
)

var (
	rampKeys      = []string{"to", "step", "until"}
	rampUntilKeys = []string{"memory", "pids", "time"}
)

const (
	// defaultRampSteps is the number of steps of a ramp without a step size.
	defaultRampSteps = 5
	// defaultRampMemory ends a ramp while the host is still usable.
	defaultRampMemory = 0.9
)

// ramp reads a growing number of idle instances. They are the scene's only actor.
func (d *decoder) ramp(f map[string]*node, s *Scene, like Actor) []Actor {
	for _, key := range slices.Concat(subjectKeys, []string{"actors", "startup"}) {
		if f[key] != nil {
			d.fail(f[key].place, "%s has no meaning in a ramp%w", key, bench.Hint("its instances are idle and all alike"))
		}
	}
	n := f["ramp"]
	r := &bench.Ramp{Until: bench.RampUntil{Memory: defaultRampMemory}}
	s.Ramp = r
	if n.kind != mapping {
		d.fail(n.place, "ramp is written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: ramp: {to: 100, step: 10, until: {memory: 80%}}"))
		return nil
	}
	k := d.fields(n, "ramp", rampKeys)
	if k["to"] == nil {
		d.fail(n.place, "a ramp needs its number of instances%w", bench.Hint("such as: to: 100"))
	}
	before := len(d.errs)
	d.integer(k["to"], 2, maxCount, &r.To)
	r.Step = max(1, (r.To+defaultRampSteps-1)/defaultRampSteps)
	d.integer(k["step"], 1, maxCount, &r.Step)
	if k["step"] != nil && k["to"] != nil && r.Step >= r.To && len(d.errs) == before {
		d.fail(k["step"].place, "a step of %d makes a single step of %d instances: no slope can be found%w", r.Step, r.To,
			bench.Hint("take at most half of to"))
	}
	if u := k["until"]; u != nil {
		d.rampUntil(u, &r.Until)
	}
	a := like
	a.Name, a.Role, a.Count = "subject", bench.Subject, r.To
	a.Places = s.Places
	return []Actor{a}
}

func (d *decoder) rampUntil(n *node, u *bench.RampUntil) {
	if n.kind != mapping {
		d.fail(n.place, "until of a ramp is written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: until: {memory: 80%, time: 5m}"))
		return
	}
	f := d.fields(n, "until of a ramp", rampUntilKeys)
	for key, into := range map[string]*float64{"memory": &u.Memory, "pids": &u.Pids} {
		if f[key] == nil {
			continue
		}
		before := len(d.errs)
		if d.percent(f[key], into); *into == 0 && len(d.errs) == before {
			d.fail(f[key].place, "%s: that limit is reached before the first instance%w", f[key].text, bench.Hint("write it like 80% (or 0.8)"))
		}
	}
	d.duration(f["time"], time.Second, &u.Time)
}

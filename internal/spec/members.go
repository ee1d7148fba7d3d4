package spec

import (
	"maps"
	"slices"

	"tare/internal/bench"
)

// partsFor returns the parts of a workload that actors of a role run: a peer all that is not the
// members'.
func partsFor(role bench.Role, w bench.Workload) []string {
	return slices.DeleteFunc(slices.Clone(w.Parts()), func(part string) bool {
		return (part == bench.MembersPart(w)) != (role == bench.Member)
	})
}

// members reads the short form's key: how many, or a mapping. It returns none if the subject's
// workload has no part for them.
func (d *decoder) members(n *node, subject, like Actor) []Actor {
	a := like
	a.Name, a.Role = string(bench.Member), bench.Member
	a.Places = maps.Clone(like.Places)
	a.Places[""], a.Places["count"] = n.place, n.place
	if n.kind == mapping {
		f := d.fields(n, "members", memberKeys)
		if f["count"] == nil {
			d.fail(n.place, "members: how many?%w", bench.Hint("say count: 2"))
		}
		d.actor(f, &a)
	} else {
		d.integer(n, 1, maxCount, &a.Count)
	}
	if subject.Workload == "" {
		if subject.Places["workload"] == (Place{}) { // else it could not be read, which is reported
			d.fail(n.place, "members do a workload's job, and the subject has none")
		}
		return nil
	}
	w := d.words.Workload(subject.Workload)
	if a.Part = bench.MembersPart(w); a.Part == "" {
		d.fail(n.place, "workload %s has no part that a member could run%w", w.Name(), d.clusters())
		return nil
	}
	a.Workload, a.Params, a.Serves = subject.Workload, subject.Params, subject.Name
	for path, at := range subject.Places { // its parameters were written there
		if ofWork(path) {
			a.Places[path] = at
		}
	}
	return []Actor{a}
}

// clusters names the workloads that have members.
func (d *decoder) clusters() bench.Hint {
	var names []string
	for _, w := range d.words.Workloads {
		if bench.MembersPart(w) != "" {
			names = append(names, w.Name())
		}
	}
	if len(names) == 0 {
		return "several instances that each do the same: alike: 2"
	}
	return bench.OneOf(names)
}

// Members returns how many members the scene's subject has.
func (s *Scene) Members() (n int) {
	for _, a := range s.Actors {
		if a.Role == bench.Member {
			n += a.Count
		}
	}
	return n
}

// clustered refuses a cluster without members, and what a scene with one cannot have: a second
// cluster, or a subject that is moved from among its members.
func (d *decoder) clustered(s *Scene) {
	clusters := 0
	for i := range s.Actors {
		a := &s.Actors[i]
		if a.Workload == "" || a.Part != bench.SubjectPart || bench.MembersPart(d.words.Workload(a.Workload)) == "" {
			continue
		}
		clusters += a.Count
		switch {
		case a.Role != bench.Subject:
			d.fail(a.Places.At("workload"), "a %s cannot be a cluster: only the subject has members", a.Role)
		case clusters > 1:
			d.fail(a.Places.At("count"), "%s is a job of several instances, of which a scene has one%w", a.Workload, bench.Hint("more instances for the job: members: 4"))
		case s.Migrate != "":
			d.fail(s.Places.At("migrate"), "a cluster cannot be migrated")
		case !slices.ContainsFunc(s.Actors, func(b Actor) bool { return b.Role == bench.Member && b.Serves == a.Name }):
			d.fail(a.Places.At("workload"), "%s needs members, which do the work%w", a.Workload, bench.Hint("say how many: members: 2"))
		}
	}
}

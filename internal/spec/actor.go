package spec

import (
	"maps"
	"slices"

	"tare/internal/bench"
)

var actorKeys = []string{"name", "role", "platform", "workload", "params", "part", "serves", "shape", "count", "load", "placement", "host", "containment"}

var roles = []string{string(bench.Subject), string(bench.Member), string(bench.Neighbour), string(bench.Idle), string(bench.Peer)}

// actors reads the general form, in which every actor is written out.
func (d *decoder) actors(n *node, s Scene, like Actor) []Actor {
	if n.kind != sequence || len(n.items) == 0 {
		d.fail(n.place, "actors are a list, found %s", n.kindName())
		return nil
	}
	var all []Actor
	var peers []map[string]*node
	for _, item := range n.items {
		a, f := d.oneActor(item, s, like)
		if slices.ContainsFunc(all, func(b Actor) bool { return b.Name == a.Name }) {
			d.fail(a.Places.At("name"), "two actors are named %q%w", a.Name, bench.Hint("give each a different name:"))
		}
		all = append(all, a)
		if a.Role == bench.Peer || a.Role == bench.Member {
			peers = append(peers, f)
		} else {
			peers = append(peers, nil)
		}
	}
	for i := range all {
		if peers[i] != nil {
			d.serve(peers[i], &all[i], all)
		}
	}
	slices.SortStableFunc(all, func(a, b Actor) int { return slices.Index(roles, string(a.Role)) - slices.Index(roles, string(b.Role)) })
	if all[0].Role != bench.Subject {
		d.fail(n.place, "no actor is the subject: nothing would be measured%w", bench.Hint("give one role: subject"))
	}
	for _, a := range all {
		if a.Role == bench.Subject && a.Workload != all[0].Workload && !unreadWork(all) {
			d.fail(a.Places.At("workload"), "the subjects of a scene run one workload, here %s and %s%w", all[0].Workload, a.Workload,
				bench.Hint("make one of them a neighbour"))
		}
	}
	return all
}

// oneActor reads one element of the list. It also returns the element's keys.
func (d *decoder) oneActor(n *node, s Scene, like Actor) (Actor, map[string]*node) {
	f := d.fields(n, "an actor", actorKeys)
	a := like
	a.Places = maps.Clone(like.Places)
	a.Places[""] = n.place
	role := string(bench.Subject)
	d.word(f["role"], "role", roles, &role)
	a.Role, a.Name = bench.Role(role), role
	d.name(f["name"], &a.Name)
	switch a.Role {
	case bench.Subject:
		if f["platform"] != nil && f["platform"].text != same {
			d.fail(f["platform"].place, "the subject runs on the platform under test%w", bench.Hint("list platforms in the scene or the experiment"))
		}
		d.refuse(f, a.Role, "part", "serves")
		work := f
		if s.Startup || f["workload"] == nil {
			d.subject(f, s, &a)
			work = without(f, "workload", "params")
		}
		d.actor(work, &a)
	case bench.Neighbour:
		if f["serves"] != nil {
			d.fail(f["serves"].place, "a neighbour cannot serve another actor: only a peer or a member can%w",
				bench.Hint("remove serves:, or write role: peer"))
		}
		d.refuse(f, a.Role, "part")
		if f["workload"] == nil {
			d.fail(n.place, "a neighbour needs a workload%w", bench.Hint("for one that does nothing write role: idle"))
		}
		d.actor(f, &a)
	case bench.Idle:
		d.refuse(f, a.Role, "workload", "params", "part", "serves", "load")
		d.actor(without(f, "workload", "params", "load"), &a)
	case bench.Peer:
		d.refuse(f, a.Role, "workload", "params", "count", "load")
		a.Platform = peerPlatform()
		d.actor(without(f, "workload", "params", "count", "load"), &a)
	case bench.Member:
		if f["platform"] != nil && f["platform"].text != same {
			d.fail(f["platform"].place, "a member runs on the platform under test%w", bench.Hint("the other end of a workload may run elsewhere: role: peer"))
		}
		d.refuse(f, a.Role, "workload", "params", "part", "load", "containment")
		d.actor(without(f, "platform", "workload", "params", "load", "containment"), &a)
	}
	return a, f
}

func without(f map[string]*node, keys ...string) map[string]*node {
	f = maps.Clone(f)
	for _, k := range keys {
		delete(f, k)
	}
	return f
}

func (d *decoder) refuse(f map[string]*node, role bench.Role, keys ...string) {
	for _, k := range keys {
		if f[k] != nil {
			d.fail(f[k].place, "%s has no meaning for the role %s", k, role)
		}
	}
}

// serve links a peer or a member to the actor whose workload it is a part of.
func (d *decoder) serve(f map[string]*node, a *Actor, all []Actor) {
	var names []string
	for _, b := range all {
		if b.Workload != "" && b.Part == bench.SubjectPart {
			names = append(names, b.Name)
		}
	}
	switch {
	case f["serves"] != nil:
		d.word(f["serves"], "actor with a workload", names, &a.Serves)
	case len(names) == 1:
		a.Serves = names[0]
	case len(names) == 0 && unreadWork(all): // the served actor's error is reported already
	default:
		d.fail(a.Places.At(""), "%s %q: serves is missing%w", a.Role, a.Name, bench.Hint("say serves: NAME"))
	}
	i := slices.IndexFunc(all, func(b Actor) bool { return b.Name == a.Serves && b.Serves == "" })
	if a.Serves == "" || i < 0 {
		return
	}
	w := d.words.Workload(all[i].Workload)
	parts := partsFor(a.Role, w)
	if len(parts) == 0 {
		d.fail(a.Places.At(""), "workload %s has no part that a %s could run", w.Name(), a.Role)
		return
	}
	a.Workload, a.Params, a.Part = w.Name(), all[i].Params, parts[0]
	if f["part"] == nil && len(parts) > 1 {
		d.fail(a.Places.At(""), "peer %q: part is missing: which part of %s does it run?%w", a.Name, w.Name(), bench.OneOf(parts))
	}
	d.word(f["part"], "part of "+w.Name(), parts, &a.Part)
	for _, b := range all {
		if b.Name != a.Name && b.Serves == a.Serves && b.Part == a.Part && a.Role == bench.Peer {
			d.fail(a.Places.At(""), "%s and %s play the same part for %s", b.Name, a.Name, a.Serves)
		}
	}
}

// same is the platform under test.
const same = "same"

// actor reads the keys that all actors have.
func (d *decoder) actor(f map[string]*node, a *Actor) {
	for key, value := range f {
		a.Places[key] = value.place
	}
	switch p := f["platform"]; {
	case p == nil:
	case p.text == same:
		a.Platform = nil
	default:
		if ref, ok := d.platform(p); ok {
			a.Platform = &ref
		}
	}
	d.host(f["host"], a)
	d.readShape(f["shape"], &a.Shape, a.Places)
	d.integer(f["count"], 1, maxCount, &a.Count)
	d.placement(f["placement"], a)
	d.containment(f["containment"], a)
	if f["workload"] != nil {
		d.workload(f, a)
		d.share(f["load"], a)
	} else if f["params"] != nil {
		d.fail(f["params"].place, "params need a workload%w", bench.Hint("say workload: NAME beside them"))
	}
}

func (d *decoder) placement(n *node, a *Actor) {
	where := string(Apart)
	d.word(n, "placement", []string{string(Apart), string(Shared), string(Floating)}, &where)
	a.Placement = Placement(where)
}

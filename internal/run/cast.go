package run

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/bench"
)

// cast are actors of a trial.
type cast []*actor

// with are those of a role.
func (c cast) with(role bench.Role) cast {
	var as cast
	for _, a := range c {
		if a.Role == role {
			as = append(as, a)
		}
	}
	return as
}

// measured are those whose programs run in the measured window, and whose output tells how it went.
func (c cast) measured() cast {
	all := slices.Concat(c.with(bench.Subject), c.with(bench.Partner), c.read())
	for i, a := range all {
		all[i] = c.worker(a)
	}
	return all
}

// read are the neighbours whose output is read, too.
func (c cast) read() cast {
	return slices.DeleteFunc(c.with(bench.Neighbour), func(a *actor) bool { return !a.Read })
}

// isRead reports whether an actor is one of these, or a part of one's workload.
func (c cast) isRead(a *actor) bool {
	return slices.ContainsFunc(c.read(), func(b *actor) bool { return a == b || a.Serves == b.Name })
}

// worker is the actor whose program tells of a's work: a itself or, where a's program is a service,
// the peer that loads it.
func (c cast) worker(a *actor) *actor {
	if a.part.Service {
		for _, b := range c {
			if b.Serves == a.Name && b.loads() {
				return b
			}
		}
	}
	return a
}

// send tells the actors on further hosts of theirs, and those that they serve where they are found.
func (c cast) send(hosts map[string]FurtherHost) {
	for _, a := range c {
		h, ok := hosts[a.Host]
		if !ok || !a.Away() {
			continue
		}
		a.away = &h
		for _, b := range c {
			if b.Name == a.Serves {
				b.reach = h.Reach
			}
		}
	}
}

// each runs f for every actor at once and joins the errors.
func (c cast) each(f func(*actor) error) error {
	errs := make([]error, len(c))
	var wg sync.WaitGroup
	for i, a := range c {
		wg.Go(func() { errs[i] = f(a) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// disturbs reports whether an actor is a neighbour or a part of one's workload.
func (c cast) disturbs(a *actor) bool {
	if a.Serves != "" {
		i := slices.IndexFunc(c, func(b *actor) bool { return b.Name == a.Serves })
		return i >= 0 && c[i].Role == bench.Neighbour
	}
	return a.Role == bench.Neighbour
}

// attended reports whether an actor is a service that the subjects need.
func (c cast) attended(a *actor) bool { return a.part.Service && !c.disturbs(a) }

// inOrder are the actors as they are made ready: first all that the subjects need and then what
// loads them, then what serves the neighbours, the neighbours and what loads those, and the parts
// that do harm last.
func (c cast) inOrder(workloads map[string]bench.Workload) cast {
	rank := func(a *actor) int {
		switch w, adversary := workloads[a.Workload].(bench.Adversary); {
		case !c.disturbs(a) && !a.loads():
			return 0
		case !c.disturbs(a):
			return 1
		case adversary && w.Attacks(a.Part):
			return 5
		case a.Role == bench.Neighbour:
			return 3
		case a.loads():
			return 4
		}
		return 2
	}
	order := slices.Clone(c)
	slices.SortStableFunc(order, func(a, b *actor) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// ofSubject are the subjects and their members.
func (c cast) ofSubject() cast { return append(c.with(bench.Subject), c.with(bench.Member)...) }

// members are those of the cluster that a belongs to, in their order.
func (c cast) members(a *actor) cast {
	return slices.DeleteFunc(c.with(bench.Member), func(b *actor) bool { return b.Serves != cmp.Or(a.Serves, a.Name) })
}

// addresses are those of the parts of a's workload, such as "server": of the
// actors that serve the one a serves, or a itself. Of a member's part it is that of a, if a is one.
func (c cast) addresses(a *actor) map[string]netip.Addr {
	served := cmp.Or(a.Serves, a.Name)
	m := map[string]netip.Addr{}
	for _, b := range c {
		switch {
		case b.Role == bench.Member && a.Role == bench.Member && a != b:
		case b.Serves == served:
			m[b.Part] = b.addr
		case b.Name == served:
			m[bench.SubjectPart] = b.addr
		}
	}
	return m
}

// rememberLogs keeps the platforms' last words for the record of a failure.
func (c cast) rememberLogs() {
	for _, a := range c {
		if a.instance != nil {
			a.outcome.Log = a.log()
		}
	}
}

package plan

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/bench"
	"tare/internal/spec"
)

// titleOf is the case for people: "One core, threads 2".
func titleOf(s spec.Scene) string {
	title := s.Title
	for _, f := range s.Factors {
		title += ", " + f.Words()
	}
	if s.Turns > 0 {
		title += fmt.Sprintf(", in turns of %v", s.Turns)
	}
	return title
}

// shortOf is what a sentence calls the case's work: "random reads, block 4KiB"; "" where its name will do.
func shortOf(s spec.Scene) string {
	if s.Short == "" && len(s.Factors) == 0 {
		return ""
	}
	short := cmp.Or(s.Short, strings.ReplaceAll(s.Name, "-", " "))
	for _, f := range s.Factors {
		short += ", " + f.Words()
	}
	return short
}

// build writes a scene out for one platform under test: every instance an actor
// of its own, with its place on the host's CPUs.
func (m *maker) build(s spec.Scene, on bench.PlatformRef) (bench.Scene, error) {
	name := s.Case()
	out := bench.Scene{
		ID: name + "/" + on.String(), Kind: kindOf(s), Case: name, Title: titleOf(s), Short: shortOf(s), Platform: on, Timing: s.Timing, Conditions: s.Conditions, Pool: s.Pool, MemoryPool: s.MemoryPool, Cache: s.Cache, Ramp: s.Ramp, Turns: s.Turns,
	}
	for _, f := range s.Factors {
		if out.Factors == nil {
			out.Factors = map[string]string{}
		}
		out.Factors[f.Name] = f.Level
	}
	var where []spec.Placement
	names := map[string]bool{}
	for _, a := range s.Actors {
		for i := range instances(s, a) {
			b := bench.Actor{
				Name: numbered(a.Name, i), Role: a.Role, Host: a.Host, Platform: on, Shape: a.Shape,
				Workload: a.Workload, Params: a.Params, Part: a.Part,
			}
			if a.Platform != nil {
				b.Platform = *a.Platform
			}
			b.Read = a.Read
			if m.contained(a) {
				b.Containment = m.containment(a, b.Platform)
			}
			_, b.DiskAsked = a.Places["shape.disk"]
			switch {
			case a.Role == bench.Member:
				b.Serves = a.Serves
			case a.Serves != "":
				b.Serves = numbered(a.Serves, i)
			}
			if names[b.Name] {
				return out, spec.Errors{a.Places.At("name").Errorf("scene %s has two actors %q: one by count, one by name", s.Name, b.Name)}
			}
			names[b.Name] = true
			out.Actors = append(out.Actors, b)
			where = append(where, a.Placement)
		}
	}
	cpus := m.node(s)
	if cpus == nil {
		cpus = pool(m.Host.CPUs, s.Pool)
	}
	company := place(out.Actors, where, cpus, m.Host.CPUs[0])
	if s.Ramp == nil { // idle instances that share CPUs is what was asked for
		m.findings.add(name, company)
	}
	m.findings.add(name, m.overcommitted(out.Actors))
	m.findings.add(name, m.outsidePool(out))
	work := m.undisturbed(s)
	out.Estimate = m.trialCost(out, work).Seconds()
	if out.Kind.Sampled() {
		if m.Available[on.Driver()].Label != "" {
			work *= slowly
			m.findings.add(name, narrow(out, work))
		}
		lock(&out, work)
	}
	return out, nil
}

// overcommitted says when the limits of all actors together, and what they need
// beyond them, exceed the host.
func (m *maker) overcommitted(actors []bench.Actor) []string {
	var sum bench.Bytes
	for _, a := range actors {
		if a.Away() {
			continue
		}
		sum += a.Shape.Memory + m.Available[a.Platform.Driver()].Beyond.Memory
	}
	host := m.Host.Memory
	if host == 0 || sum <= host {
		return nil
	}
	return []string{fmt.Sprintf("%d instances may use %s of memory together, more than the %s of this host", len(actors), sum, host)}
}

// instances is how many there are of an actor: of a peer one for each instance of the
// actor it serves, or else its own count.
func instances(s spec.Scene, a spec.Actor) int {
	for _, served := range s.Actors {
		if a.Role != bench.Member && a.Serves != "" && served.Name == a.Serves {
			return served.Count
		}
	}
	return a.Count
}

// numbered names the i-th instance, counted from 0: subject, subject-2, subject-3.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}

func kindOf(s spec.Scene) bench.SceneKind {
	subjects, kind, members := 0, bench.One, false
	for _, a := range s.Actors {
		switch a.Role {
		case bench.Subject:
			subjects += a.Count
		case bench.Neighbour:
			kind = bench.Beside
		case bench.Member:
			members = true
		}
	}
	switch {
	case s.Startup:
		return bench.Startup
	case s.Migrate != "":
		return bench.Migration // or by a checkpoint, which is for the platform to say
	case s.Ramp != nil:
		return bench.Ramped
	case kind == bench.One && members:
		return bench.Cluster
	case kind == bench.One && subjects > 1:
		return bench.Alike
	}
	return kind
}

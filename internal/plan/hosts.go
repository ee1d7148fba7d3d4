package plan

import (
	"slices"

	"tare/internal/bench"
	"tare/internal/spec"
)

// runsOn says whether an actor of the scenes runs on the host.
func runsOn(scenes []bench.Scene, host string) bool {
	return slices.ContainsFunc(scenes, func(s bench.Scene) bool {
		return slices.ContainsFunc(s.Actors, func(a bench.Actor) bool { return a.Host == host })
	})
}

// checkAway refuses a peer on a further host that would open a port there, and adversaries where the run's
// network has a way out.
func (m *maker) checkAway(e *spec.Experiment, a spec.Actor, does bench.Part) (errs spec.Errors) {
	if a.Host == bench.LocalHost {
		return nil
	}
	if does.Service {
		errs = append(errs, a.Places.At("host").Errorf("%s serves, and a peer on a further host only calls%w", a.Name,
			bench.Hint("tare opens no port on another host; netserver is netperf the other way round")))
	}
	for _, s := range e.Scenes {
		for _, b := range s.Actors {
			if w := m.Words.Workload(b.Workload); w != nil && bench.IsAdversary(w) {
				return append(errs, a.Places.At("host").Errorf("scene %s has an adversary, and the network of a run with further hosts has a way out%w", s.Name,
					bench.Hint("put adversaries into an experiment of their own")))
			}
		}
	}
	return errs
}

// found are the platforms whose instances a further host finds, if the scene has a peer on one: those that have
// the network of the host. Each other one is put down as skipped. It returns the host as well, "" for none.
func (m *maker) found(refs []bench.PlatformRef, s spec.Scene) (can []bench.PlatformRef, host string) {
	i := slices.IndexFunc(s.Actors, func(a spec.Actor) bool { return a.Host != bench.LocalHost })
	if i < 0 {
		return refs, ""
	}
	host = s.Actors[i].Host
	for _, ref := range refs {
		if why := m.unfound(ref, host); why != nil {
			m.skip(*why)
			continue
		}
		can = append(can, ref)
	}
	return can, host
}

// unfound is the skip of a platform whose instances the host does not find, nil if it does.
func (m *maker) unfound(ref bench.PlatformRef, host string) *bench.Skip {
	if ref.On == nil && (ref.Name == bench.Native || m.Words.Variant(ref)[netOption] == hostNetwork) {
		return nil
	}
	why := &bench.Skip{Platform: ref.String(), Named: true, Reason: "it has a network of its own, in which host " + host + " does not find it",
		Hint: "a peer on this host loads it"}
	if w := m.word(ref.Name); ref.On == nil && w != nil && slices.ContainsFunc(w.Options, func(o bench.Option) bool { return o.Name == netOption && slices.Contains(o.Values, hostNetwork) }) {
		why.Hint = "name it with " + netOption + "=" + hostNetwork + ": " + ref.Name + "[" + netOption + "=" + hostNetwork + "]"
	}
	return why
}

// The option of platforms that can have the network of the host, and its value for that.
const (
	netOption   = "net"
	hostNetwork = "host"
)

func (m *maker) word(name string) *spec.PlatformWord {
	for i := range m.Words.Platforms {
		if m.Words.Platforms[i].Name == name {
			return &m.Words.Platforms[i]
		}
	}
	return nil
}

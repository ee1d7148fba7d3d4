package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/host"
)

// Side is everything known of one side of a comparison: one case on one platform.
type Side struct {
	Platform string // with options
	Resource string // what the case mainly stresses, such as "disk"
	Startup  bool   // the launch, or a migration, is the measurement, so nothing is sampled
	Image    string // digest of the golden image
	Programs map[string]string
	Host     *host.Facts
	Subjects []bench.Actor // as planned
	Launches []Launch
}

// Launch is one finished trial of a side.
type Launch struct {
	Trial string
	Block int
	// Actors are the subjects.
	Actors []bench.ActorOutcome
	// Load is what kept the host busy besides the actors of the scene, Steal what
	// the hypervisor below it took, both in cores; nil if it was not measured.
	Load, Steal *float64
	// Outside is the other work that the run looked for around the launch; nil if it did not.
	Outside *bench.Outside
	// SwappedOut is how much more memory of the host was swapped out at the end
	// of the window than at its beginning, in bytes.
	SwappedOut *float64
}

// of gathers the distinct texts that f finds over all subjects of all launches,
// sorted. Empty texts are left out.
func (s *Side) of(f func(*bench.ActorOutcome) string) []string {
	var texts []string
	for i := range s.Launches {
		for j := range s.Launches[i].Actors {
			if t := f(&s.Launches[i].Actors[j]); t != "" && !slices.Contains(texts, t) {
				texts = append(texts, t)
			}
		}
	}
	slices.Sort(texts)
	return texts
}

// fact gathers the distinct values of a fact.
func (s *Side) fact(name string) []string {
	return s.of(func(a *bench.ActorOutcome) string { return a.Facts[name] })
}

// any says whether f holds of a subject in any launch.
func (s *Side) any(f func(*bench.ActorOutcome) bool) bool {
	for i := range s.Launches {
		if slices.ContainsFunc(s.Launches[i].Actors, func(a bench.ActorOutcome) bool { return f(&a) }) {
			return true
		}
	}
	return false
}

// ownKernel: the instances have a kernel of their own.
func (s *Side) ownKernel() bool {
	return s.any(func(a *bench.ActorOutcome) bool { return a.Scope != nil && a.Scope.OwnKernel })
}

// lacks says whether a limit was not enforced in any launch.
func (s *Side) lacks(limit string) bool {
	return s.any(func(a *bench.ActorOutcome) bool {
		return slices.ContainsFunc(a.Unenforced, func(u string) bool { return strings.HasPrefix(u, limit) })
	})
}

// planned gathers the distinct texts that f makes of the planned subjects.
func (s *Side) planned(f func(*bench.Actor) string) []string {
	var texts []string
	for i := range s.Subjects {
		if t := f(&s.Subjects[i]); t != "" && !slices.Contains(texts, t) {
			texts = append(texts, t)
		}
	}
	return texts
}

func join(texts []string) string { return strings.Join(texts, " and ") }

// listed writes versions as "fio 3.39, sysbench 1.0".
func listed(versions map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		texts = append(texts, name+" "+versions[name])
	}
	return strings.Join(texts, ", ")
}

func cpuList(cpus []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
}

package run

import (
	"fmt"
	"maps"
	"slices"

	"tare/internal/bench"
	"tare/internal/meter"
)

// daemons are the processes that serve all instances of a platform, by its name, as its
// last instance told.
type daemons map[string][]bench.Process

// describe records where each actor's cost is paid, unless that is known already.
func (d daemons) describe(actors ...*actor) error {
	for _, a := range actors {
		if a.outcome.Scope != nil {
			continue
		}
		s, err := a.instance.Scope()
		if err != nil {
			return fmt.Errorf("scope of %s: %w", a.Name, err)
		}
		a.outcome.Scope = &s
		if len(s.Shared) > 0 {
			d[a.Platform.Driver()] = s.Shared
		}
	}
	return nil
}

// openIdle opens readers of the daemons that none of the actors has an instance of,
// as far as earlier ones told of them: what they use now is not on behalf
// of anything measured. Those that have ended meanwhile are left out.
func (d daemons) openIdle(actors cast) []bench.Reader {
	var readers []bench.Reader
	for _, platform := range slices.Sorted(maps.Keys(d)) {
		if slices.ContainsFunc(actors, func(a *actor) bool { return a.Platform.Driver() == platform }) {
			continue
		}
		if r, err := meter.OpenDaemons("/proc", platform, d[platform]); err == nil {
			readers = append(readers, r)
		}
	}
	return readers
}

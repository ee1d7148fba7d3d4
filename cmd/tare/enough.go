package main

import (
	"slices"

	"tare/internal/overhead"
	"tare/internal/result"
	"tare/internal/store"
)

// enough asks the run's stopping rule at the end of a block, nil without a rule.
// It replays it from the outcomes on disk each time: nothing is remembered that
// a resumed run would not know.
func enough(r *store.Run) func(scene string, block int) (bool, error) {
	u := r.Plan().Until
	if u == nil {
		return nil
	}
	var stops []result.Stop
	asked := 0 // the block stops is of; no trial ends between the questions of one
	return func(scene string, block int) (bool, error) {
		if !slices.Contains(u.Looks, block) {
			return false, nil
		}
		if asked != block {
			var err error
			if stops, err = overhead.StopsOf(r); err != nil {
				return false, err
			}
			asked = block
		}
		end, ended := overhead.EndOf(r.Plan(), stops, r.Plan().Scene(scene))
		return ended && end <= block, nil
	}
}

// left counts the trials that are still to be run as far as is known: those a
// stopping rule makes unnecessary later are among them.
func left(r *store.Run, finished map[string]bool) (int, error) {
	stops, err := overhead.StopsOf(r)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range r.Plan().Trials {
		if !finished[t.ID] && !overhead.NotNeeded(r.Plan(), stops, t) {
			n++
		}
	}
	return n, nil
}

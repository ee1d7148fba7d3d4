package stop

import (
	"iter"
	"slices"

	"tare/internal/bench"
)

// Enough asks the plan's rule at the end of a block whether a scene has enough;
// nil without a rule. It replays the rule from the stored outcomes each time:
// nothing is remembered that a resumed run would not know.
func Enough(p *bench.Plan, outcomes func() iter.Seq2[*bench.Outcome, error]) func(scene string, block int) (bool, error) {
	if p.Until == nil {
		return nil
	}
	var ends *Ends
	asked := 0 // the block ends is of; no trial ends between the questions of one
	return func(scene string, block int) (bool, error) {
		if !slices.Contains(p.Until.Looks, block) {
			return false, nil
		}
		if asked != block {
			var err error
			if ends, err = Read(p, outcomes()); err != nil {
				return false, err
			}
			asked = block
		}
		end, ended := ends.Of(p.Scene(scene))
		return ended && end <= block, nil
	}
}

// Left counts the trials that are still to be run as far as is known: those the
// rule makes unnecessary later are among them.
func Left(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error], finished map[string]bool) (int, error) {
	ends, err := Read(p, outcomes)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range p.Trials {
		if !finished[t.ID] && ends.Needs(t) {
			n++
		}
	}
	return n, nil
}

package plan_test

import (
	"testing"

	"tare/internal/plan"
)

// Of one platform alone nothing is decided by more blocks, so it has the least that a rule asks for.
func TestOnePlatformAloneHasTheLeastBlocks(t *testing.T) {
	for _, c := range []struct {
		platforms string
		blocks    int
	}{
		{"[native]", 3}, {"[docker]", 3}, {"[native, docker]", 30},
	} {
		p := planned(t, "name: x\nplatforms: "+c.platforms+"\nuntil: {min: 3, max: 30}\nbudget: 3m\nscenes: [{name: a, workload: spin}]", inputs(2))
		if p.Blocks != c.blocks || p.Until.Max != c.blocks || p.Trials[len(p.Trials)-1].Block != c.blocks {
			t.Errorf("%s: %d blocks, at most %d by its rule", c.platforms, p.Blocks, p.Until.Max)
		}
		if c.blocks > 3 {
			continue
		}
		more, err := plan.Extend(p, plan.More{Blocks: 4})
		if err != nil || more.Blocks != 7 {
			t.Errorf("%s: it may be given more: %+v, %v", c.platforms, more, err)
		}
	}
}

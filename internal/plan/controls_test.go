package plan_test

import (
	"slices"
	"testing"
)

// The control is the baseline in all but its name, once a block in every scene it can check.
func TestControlIsTheBaselineOnceMore(t *testing.T) {
	p, err := makeWith(t, inputs(4), `
name: x
platforms: [docker, native]
controls: true
blocks: 3
scenes:
  - {name: s, startup: true}
  - {name: cpu, workload: spin}
  - {name: beside, workload: spin, relative: cpu}
`)
	if err != nil {
		t.Fatal(err)
	}
	var controls []string
	for _, s := range p.Scenes {
		if s.Control != (s.Platform.String() == "native[as=control]") {
			t.Errorf("%s: control %v", s.ID, s.Control)
		}
		if !s.Control {
			continue
		}
		controls = append(controls, s.Case)
		base := p.Scene(s.Case + "/native")
		if s.Platform.Driver() != "native" || len(s.Actors) != len(base.Actors) || !slices.Equal(s.Actors[0].CPUSet, base.Actors[0].CPUSet) || s.Actors[0].Shape != base.Actors[0].Shape {
			t.Errorf("%+v is not as %+v", s, base)
		}
		n := 0
		for _, trial := range p.Trials {
			if trial.Scene == s.ID {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%d trials of %s, want one a block", n, s.ID)
		}
	}
	if !slices.Equal(controls, []string{"s", "cpu"}) {
		t.Errorf("controls of %v", controls)
	}
}

package spec

import (
	"maps"

	"tare/internal/bench"
)

// controls adds the baseline under a second name to every scene whose effects are of
// platforms against it. A ramp, a migration and a scene that is compared with another one
// have no such effect, or one that takes too long. In turns the baseline's own trial is the control.
func (d *decoder) controls(n *node, e *Experiment) {
	var wanted bool
	d.boolean(n, &wanted)
	if !wanted {
		return
	}
	control := controlOf(e.Baseline)
	if _, named := e.Baseline.Options[bench.AliasOption]; named {
		d.fail(n.place, "controls measure the baseline under a second name, and %s has one%w", e.Baseline, bench.Hint("name another baseline, or --set controls=false"))
		return
	}
	for _, p := range e.Platforms.Named {
		if p.String() == control.String() {
			d.fail(n.place, "%s is the control's name, and among the platforms%w", control, bench.Hint("remove it from platforms: controls add it"))
			return
		}
	}
	e.Control = &control
}

// controlOf returns the baseline under the name of the control.
func controlOf(baseline bench.PlatformRef) bench.PlatformRef {
	options := maps.Clone(baseline.Options)
	if options == nil {
		options = map[string]string{}
	}
	options[bench.AliasOption] = bench.ControlAlias
	return bench.PlatformRef{Name: baseline.Name, Options: options, On: baseline.On}
}

// Controlled reports whether the experiment's control is measured in the scene.
func (s *Scene) Controlled(e *Experiment) bool {
	return e.Control != nil && s.Ramp == nil && s.Migrate == "" && s.Relative == nil && s.Turns == 0
}

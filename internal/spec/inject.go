package spec

import (
	"slices"

	"tare/internal/bench"
)

// maxInjected bounds a slowdown: some CPU time must be left.
const maxInjected = 0.9

// inject reads the deliberate slowdowns of platforms.
func (d *decoder) inject(n *node, e *Experiment) {
	for _, item := range d.list(n) {
		f := d.fields(item, "a slowdown", []string{"platform", "cpu", "disk", "startup"})
		if f["platform"] == nil {
			d.fail(item.place, "an injection needs a platform%w", bench.Hint("such as: inject: [{platform: docker, cpu: 5%}]"))
			continue
		}
		ref, ok := d.platform(f["platform"])
		if !ok {
			continue
		}
		if !d.among(e.Platforms, ref) {
			d.fail(f["platform"].place, "%s is not among the platforms%w", ref, bench.Hint("add it to platforms"))
		}
		if slices.ContainsFunc(e.Inject, func(i Inject) bool { return i.Platform.String() == ref.String() }) {
			d.fail(f["platform"].place, "%s is slowed down twice", ref)
		}
		i := Inject{Platform: ref}
		d.percent(f["cpu"], &i.CPU)
		d.percent(f["disk"], &i.Disk)
		d.percent(f["startup"], &i.Startup)
		for key, share := range map[string]float64{"cpu": i.CPU, "disk": i.Disk, "startup": i.Startup} {
			if share > maxInjected {
				d.fail(f[key].place, "a slowdown of %g %%: at most %g %%", 100*share, 100*maxInjected)
			}
		}
		if f["cpu"] == nil && f["disk"] == nil && f["startup"] == nil {
			d.fail(item.place, "an injection needs a slowdown%w", bench.Hint("say cpu: 5%, disk: 5% or startup: 5%"))
		}
		e.Inject = append(e.Inject, i)
	}
}

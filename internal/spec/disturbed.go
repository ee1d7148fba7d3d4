package spec

import "tare/internal/bench"

var disturbedKeys = []string{"above", "repeats"}

// mostAbove bounds the CPUs of other work that a launch may have beside it: as many as no host has.
const mostAbove = 8192

// disturbed reads from when on other work on the host disturbs a launch, and how often it is repeated then.
func (d *decoder) disturbed(n *node, into *bench.Disturbance) {
	if n == nil {
		return
	}
	if n.kind != mapping {
		d.fail(n.place, "disturbed is written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: disturbed: {above: 0.3, repeats: 1}"))
		return
	}
	f := d.fields(n, "disturbed", disturbedKeys)
	d.number(f["above"], &into.Above)
	if into.Above > mostAbove {
		d.fail(f["above"].place, "%g CPUs are too many: at most %d", into.Above, mostAbove)
	}
	d.integer(f["repeats"], 0, bench.MaxRepeats, &into.Repeats)
}

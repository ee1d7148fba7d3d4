package spec

import "tare/internal/bench"

// unmetered reads the platforms whose trials are not observed.
func (d *decoder) unmetered(n *node, e *Experiment) {
	if n == nil {
		return
	}
	for _, item := range d.list(n) {
		ref, ok := d.platform(item)
		if !ok {
			continue
		}
		if !d.among(e.Platforms, ref) {
			d.fail(item.place, "%s is not among the platforms%w", ref, bench.Hint("add it to platforms"))
		}
		e.Unmetered = append(e.Unmetered, ref)
	}
}

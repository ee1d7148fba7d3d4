package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
)

// onKey names the outer platform among the options of the written-out form:
// docker: {net: host, on: qemu-tcg}.
const onKey = "on"

// platformWord reads docker[net=host]@qemu-tcg[cache=writeback]. The outer platform follows the @.
// Each platform's options are in its own brackets. Extra words are accepted unchanged.
func (d *decoder) platformWord(at Place, text string, extra ...string) (bench.PlatformRef, bool) {
	if len(text) > maxPlatform {
		d.fail(at, "%.60q...: a platform is written with at most %d bytes", text, maxPlatform)
		return bench.PlatformRef{}, false
	}
	cut := splitNest(text)
	if cut < 0 {
		return d.onePlatform(at, text, extra...)
	}
	switch inside, outside := strings.TrimSpace(text[:cut]), strings.TrimSpace(text[cut+1:]); {
	case outside == "":
		d.fail(at, "%q: no platform follows the @%w", text, bench.Hint(fmt.Sprintf("such as %s@qemu-tcg: INNER@OUTER", cmp.Or(inside, "docker"))))
		return bench.PlatformRef{}, false
	case inside == "":
		d.fail(at, "%q: no platform precedes the @%w", text, bench.Hint("such as docker"+text[cut:]+": INNER@OUTER"))
		return bench.PlatformRef{}, false
	}
	inner, ok := d.onePlatform(at.within(text, span{0, cut}), text[:cut])
	if !ok {
		return inner, false
	}
	outside := at.within(text, span{cut + 1, len(text)})
	outer, ok := d.platformWord(outside, text[cut+1:])
	return inner, ok && d.nest(outside, &inner, outer)
}

// nest puts the inner platform into the outer one, if that is possible.
func (d *decoder) nest(at Place, inner *bench.PlatformRef, outer bench.PlatformRef) bool {
	can := d.words.platform(inner.Name).On
	switch {
	case outer.On != nil && outer.On.On != nil:
		d.fail(at, "%s@%s: a nesting can be three platforms deep%w", inner, outer, bench.Hint("such as runc@xen-pv@qemu-tcg"))
		return false
	case len(can) == 0:
		d.fail(at, "%s cannot run inside another platform%w", inner.Name, theseCan(d.words))
		return false
	case !slices.Contains(can, outer.Driver()):
		d.fail(at, "%s cannot run inside %s%w", inner.Name, outer.Driver(), bench.Hint("it can inside: "+strings.Join(can, ", ")))
		return false
	}
	inner.On = &outer
	return true
}

func theseCan(v Vocabulary) bench.Hint {
	var names []string
	for _, p := range v.Platforms {
		if len(p.On) > 0 {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "this program knows no nesting"
	}
	return bench.Hint("these can: " + strings.Join(names, ", "))
}

// splitNest returns the index of the first @ outside brackets, or -1.
func splitNest(text string) int {
	depth := 0
	for i, r := range text {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == '@' && depth == 0:
			return i
		}
	}
	return -1
}

// outerOf reads the outer platform of the written-out form.
func (d *decoder) outerOf(n *node, inner *bench.PlatformRef) bool {
	if inner.On != nil {
		d.fail(n.place, "%s is inside %s already", inner.Name, inner.On)
		return false
	}
	outer, ok := d.platform(n)
	return ok && d.nest(n.place, inner, outer)
}

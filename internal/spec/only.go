package spec

import (
	"slices"
	"strings"

	"tare/internal/bench"
)

// Case names everything of a scene but the platform: cpu[threads=2].
func (s *Scene) Case() string {
	if len(s.Factors) == 0 {
		return s.Name
	}
	var levels []string
	for _, f := range s.Factors {
		levels = append(levels, f.Name+"="+f.Level)
	}
	return s.Name + "[" + strings.Join(levels, ",") + "]"
}

// Called reports whether a name is the scene's, for all of its levels, or its case's.
func (s *Scene) Called(name string) bool { return s.Name == name || s.Case() == name }

// only leaves the scenes that are named, by scene or by case, and those that they are compared with.
func (d *decoder) only(n *node, e *Experiment) {
	if n == nil {
		return
	}
	keep := make([]bool, len(e.Scenes))
	items := d.list(n)
	if len(items) == 0 {
		d.fail(n.place, "only names no case%w", bench.Hint("such as: only: [cpu]; leave it out for all"))
	}
	for _, item := range items {
		var name string
		d.text(item, &name)
		found := item.kind != scalar
		for i := range e.Scenes {
			if e.Scenes[i].Called(name) {
				keep[i], found = true, true
			}
		}
		if !found && len(e.Scenes) > 0 {
			d.fail(item.place, "%w", bench.UnknownWord("case", name, e.cases(name)))
		}
	}
	for grew := true; grew; {
		grew = false
		for i := range e.Scenes {
			for j := range e.Scenes {
				if keep[i] && !keep[j] && e.Scenes[i].Against(&e.Scenes[j]) != nil {
					keep[j], grew = true, true
				}
			}
		}
	}
	left := e.Scenes[:0:0]
	for i, s := range e.Scenes {
		if keep[i] {
			left = append(left, s)
		}
	}
	if len(left) > 0 {
		e.Partial = len(left) < len(e.Scenes)
		e.Scenes = left
	}
}

// cases are the names that one that is not known may be meant for: the scenes', or the cases' where a
// level is named.
func (e *Experiment) cases(unknown string) []string {
	var all []string
	for i := range e.Scenes {
		name := e.Scenes[i].Name
		if strings.ContainsRune(unknown, '[') {
			name = e.Scenes[i].Case()
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

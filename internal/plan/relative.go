package plan

import (
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/spec"
)

// relative names the case that a scene is set against. What both vary tells
// rows apart, what only this one varies columns.
func relative(s *spec.Scene, e *spec.Experiment) *bench.Relative {
	if s.Relative == nil {
		return nil
	}
	r := bench.Relative{Row: s.Relative.Row, Column: s.Relative.Column}
	i := slices.IndexFunc(e.Scenes, func(o spec.Scene) bool { return s.Against(&o) != nil })
	if i < 0 {
		return nil // the specification was checked; there is one
	}
	other := e.Scenes[i]
	r.To = caseOf(other)
	own := slices.DeleteFunc(slices.Clone(s.Factors), func(f spec.Factor) bool { return slices.Contains(other.Factors, f) })
	for text, factors := range map[*string][]spec.Factor{&r.Row: other.Factors, &r.Column: own} {
		for _, f := range factors {
			*text += ", " + f.Name[strings.LastIndex(f.Name, ".")+1:] + " " + f.Level
		}
	}
	return &r
}

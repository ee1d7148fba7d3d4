package plan

import (
	"slices"

	"tare/internal/bench"
	"tare/internal/spec"
)

// relative names the case that a scene is set against and its cell in the table.
func relative(s *spec.Scene, e *spec.Experiment) *bench.Relative {
	if s.Relative == nil {
		return nil
	}
	i := slices.IndexFunc(e.Scenes, func(o spec.Scene) bool { return s.Against(&o) != nil })
	if i < 0 {
		return nil // the specification was checked; there is one
	}
	row, column := s.Cell(&e.Scenes[i])
	return &bench.Relative{To: e.Scenes[i].Case(), Row: row, Column: column}
}

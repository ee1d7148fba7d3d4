package nested

import (
	"slices"

	"tare/internal/bench"
)

// beneath puts the readers of a nesting that runs in this guest, which are of the
// guest between and of the instance inside it, before those of this guest itself.
// The host has one row for all: what the innermost have is called by its own name, the
// guest between is its busy time alone, and of this guest's own columns those are
// left out whose names are taken.
func beneath(deeper, own []bench.Reader) []bench.Reader {
	var list []bench.Reader
	taken := map[string]bool{}
	for _, r := range deeper {
		switch r.Level() {
		case bench.Outer:
			r = selected(r, func(column string) string {
				if column == bench.ColCPUBusy {
					return bench.CPUOf(bench.PartBetween)
				}
				return ""
			})
		default:
			for _, c := range r.Columns() {
				taken[c] = true
			}
		}
		list = append(list, r)
	}
	for _, r := range own {
		list = append(list, selected(r, func(column string) string {
			if taken[column] {
				return ""
			}
			return column
		}))
	}
	return list
}

// selection is some of a reader's columns, by other names perhaps.
type selection struct {
	bench.Reader
	columns []string
	from    []int
	values  []float64
}

// selected takes the columns that as gives a name.
func selected(r bench.Reader, as func(column string) string) *selection {
	s := &selection{Reader: r, values: make([]float64, len(r.Columns()))}
	for i, c := range r.Columns() {
		if name := as(c); name != "" {
			s.columns, s.from = append(s.columns, name), append(s.from, i)
		}
	}
	return s
}

// Columns implements [bench.Reader].
func (s *selection) Columns() []string { return slices.Clone(s.columns) }

// Read implements [bench.Reader].
func (s *selection) Read(values []float64) error {
	err := s.Reader.Read(s.values)
	for i, from := range s.from {
		values[i] = s.values[from]
	}
	return err
}

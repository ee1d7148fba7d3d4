package spec

import (
	"slices"

	"tare/internal/bench"
)

var relativeKeys = []string{"to", "row", "column"}

// Relative names the scene on the same platform that a scene is compared with, and where the result
// stands in the table.
type Relative struct {
	To          string // the other scene's name
	Row, Column string
}

// relative reads the key: a scene's name, or a mapping.
func (d *decoder) relative(n *node, s *Scene) {
	if n == nil {
		return
	}
	r := Relative{Column: s.Name}
	at := n
	if n.kind == scalar {
		d.text(n, &r.To)
	} else {
		f := d.fields(n, "relative", relativeKeys)
		if at = f["to"]; at == nil {
			d.fail(n.place, "relative needs a scene%w", bench.Hint("say to: NAME"))
			return
		}
		d.text(at, &r.To)
		d.text(f["row"], &r.Row)
		d.text(f["column"], &r.Column)
	}
	s.Places["relative"] = at.place
	if r.Row == "" {
		r.Row = r.To
	}
	s.Relative = &r
}

// checkRelatives reports scenes that are compared with one that does not measure the same on the
// same platforms.
func (d *decoder) checkRelatives(scenes []Scene) {
	var names []string
	for _, s := range scenes {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	for i := range scenes {
		s := &scenes[i]
		if s.Relative == nil {
			continue
		}
		at := s.Places.At("relative")
		j := slices.IndexFunc(scenes, func(o Scene) bool { return o.Name == s.Relative.To })
		switch {
		case s.Relative.To == s.Name:
			d.fail(at, "scene %q cannot be relative to itself", s.Name)
		case j < 0:
			d.fail(at, "%w", bench.UnknownWord("scene", s.Relative.To, names))
		case s.Ramp != nil || scenes[j].Ramp != nil:
			d.fail(at, "a ramp cannot be relative: it measures a limit, not performance%w", bench.Hint("compare the limits reached in the table of the ramp itself"))
		case s.Startup != scenes[j].Startup || s.Turns != scenes[j].Turns || s.Migrate != scenes[j].Migrate || len(s.Actors) > 0 && len(scenes[j].Actors) > 0 && s.Actors[0].Workload != scenes[j].Actors[0].Workload:
			d.fail(at, "scene %q does not measure what %q does%w", s.Relative.To, s.Name, bench.Hint("both need the same workload of the subject"))
		case d.measuresNothing(s):
			d.fail(at, "scene %q measures nothing to compare with %q%w", s.Name, s.Relative.To, bench.Hint("relative needs a workload with a metric"))
		case returns(scenes, s.Name):
			d.fail(at, "scene %q is, by way of %q, relative to itself%w", s.Name, s.Relative.To, bench.Hint("remove relative from one scene of the cycle"))
		case !slices.ContainsFunc(scenes, func(o Scene) bool { return s.Against(&o) != nil }):
			d.fail(at, "no variant of scene %q has the factors of %q%w", s.Relative.To, s.Name,
				bench.Hint("what the other scene varies, this one must vary too"))
		}
	}
	d.checkCells(scenes)
}

// checkCells reports two scenes that share one cell of the table.
func (d *decoder) checkCells(scenes []Scene) {
	type cell struct{ to, row, column string }
	first := map[cell]*Scene{}
	said := map[[2]string]bool{} // pairs of scenes
	for i := range scenes {
		s := &scenes[i]
		j := slices.IndexFunc(scenes, func(o Scene) bool { return s.Against(&o) != nil })
		if j < 0 {
			continue
		}
		row, column := s.Cell(&scenes[j])
		at := cell{scenes[j].Name, row, column}
		other := first[at]
		if other == nil {
			first[at] = s
			continue
		}
		if pair := [2]string{other.Name, s.Name}; !said[pair] && other.Name != s.Name {
			said[pair] = true
			d.fail(s.Places.At("relative"), "scenes %q (at %s) and %q would stand in the same cell, row %q and column %q against %q%w",
				other.Name, other.Places.At("relative"), s.Name, row, column, at.to, bench.Hint("give one of them another column, such as column: "+s.Name))
		}
	}
}

// Cell returns the row and column of a scene's result relative to the other scene. Factors that
// both vary make the rows. Factors that only this one varies make the columns.
func (s *Scene) Cell(other *Scene) (row, column string) {
	row, column = s.Relative.Row, s.Relative.Column
	for _, f := range s.Factors {
		text := ", " + f.Words()
		if f.in(other.Factors) {
			row += text
		} else {
			column += text
		}
	}
	return row, column
}

// measuresNothing reports whether the scene's subject has a workload without metrics. Parameters
// that cannot be read are reported elsewhere.
func (d *decoder) measuresNothing(s *Scene) bool {
	if s.Startup || s.Migrate != "" || len(s.Actors) == 0 {
		return false
	}
	w := d.words.Workload(s.Actors[0].Workload)
	if w == nil {
		return true
	}
	if _, stores := w.(bench.RootWriter); stores {
		return false
	}
	metrics, err := w.Metrics(s.Actors[0].Params)
	return err == nil && len(metrics) == 0
}

// returns reports whether the chain of relative scenes leads back to the named one.
func returns(scenes []Scene, name string) bool {
	seen := map[string]bool{}
	for at := name; !seen[at]; {
		seen[at] = true
		i := slices.IndexFunc(scenes, func(s Scene) bool { return s.Name == at })
		if i < 0 || scenes[i].Relative == nil {
			return false
		}
		if at = scenes[i].Relative.To; at == name {
			return true
		}
	}
	return false
}

// Against returns o if s is compared with it, else nil. It must have the name in s.Relative, and
// each of its factors must be in s at the same level.
func (s *Scene) Against(o *Scene) *Scene {
	if s.Relative == nil || o.Name != s.Relative.To {
		return nil
	}
	for _, f := range o.Factors {
		if !f.in(s.Factors) {
			return nil
		}
	}
	return o
}

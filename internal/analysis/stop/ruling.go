package stop

import (
	"slices"

	"tare/internal/bench"
)

// ruling are the cases that end together: one, or with it those that are set against it.
type ruling struct {
	cases  []string       // the one that the others are set against is the first
	scenes []*bench.Scene // of them, in the plan's order
}

// rulings are the plan's, in its order.
func rulings(p *bench.Plan) []*ruling {
	to := map[string]string{} // what a case is set against
	for i := range p.Scenes {
		if r := p.Scenes[i].Relative; r != nil {
			to[p.Scenes[i].Case] = r.To
		}
	}
	by := map[string]*ruling{}
	var all []*ruling
	for i := range p.Scenes {
		sc := &p.Scenes[i]
		root := rootOf(sc.Case, to)
		f := by[root]
		if f == nil {
			f = &ruling{}
			all, by[root] = append(all, f), f
		}
		f.scenes = append(f.scenes, sc)
		switch {
		case slices.Contains(f.cases, sc.Case):
		case sc.Case == root:
			f.cases = append([]string{root}, f.cases...)
		default:
			f.cases = append(f.cases, sc.Case)
		}
	}
	return all
}

// rootOf follows what a case is set against to the one that is set against none. Of a cycle, which
// no plan of ours has, it is the last before it closes.
func rootOf(name string, to map[string]string) string {
	seen := map[string]bool{name: true}
	for {
		next, ok := to[name]
		if !ok || seen[next] {
			return name
		}
		seen[next] = true
		name = next
	}
}

// comparison is one thing that the rule is asked of a platform.
type comparison struct {
	name   string // as it is said: the platform, and what tells it from the platform's others
	metric string
	// family is how many ratios are decided together.
	family int
	own    string // the scene whose values are compared
	alone  string // with the scene of the same platform, or
	of     string // if that is "" with the baseline in this case
}

// cell says whether the comparison is of two scenes of one platform.
func (c *comparison) cell() bool { return c.alone != "" }

// comparisons are what the rule asks of a platform: its headline ratios against the baseline, and
// of each scene that is set against another what it keeps of that. Of over-commitment, whose
// figure is a knee, of rates whose figure is a peak, and of what has no metric there are none.
func comparisons(p *bench.Plan, f *ruling, platform string) []*comparison {
	var all []*comparison
	for _, sc := range f.scenes {
		if sc.Platform.String() != platform || sc.Control || bends(sc) {
			continue
		}
		alone := against(f, sc)
		if alone == nil && platform == p.Baseline {
			continue
		}
		metrics := Deciding(p.Metrics[sc.Case])
		for _, m := range metrics {
			c := &comparison{name: platform, metric: m, own: sc.ID, of: sc.Case}
			if alone != nil {
				c.name, c.alone, c.family = platform+" "+sc.Case, alone.ID, cells(f, sc)
			} else {
				c.family = compared(p, f, sc.Case) * len(metrics)
			}
			if len(metrics) > 1 {
				c.name += " " + m
			}
			all = append(all, c)
		}
	}
	return all
}

// bends says whether a scene is a point of a curve with a knee or a peak: its ratios do not tell where
// that is.
func bends(sc *bench.Scene) bool {
	return sc.Peak != nil || (sc.Pool > 0 || sc.MemoryPool > 0) && len(sc.Factors) > 0
}

// against is the scene that a scene is set against; nil if there is none.
func against(f *ruling, sc *bench.Scene) *bench.Scene {
	if sc.Relative == nil {
		return nil
	}
	for _, o := range f.scenes {
		if o.Case == sc.Relative.To && o.Platform.String() == sc.Platform.String() {
			return o
		}
	}
	return nil
}

// cells is how many scenes of the platform stand in the scene's row of the table: the report
// corrects their verdicts together.
func cells(f *ruling, sc *bench.Scene) int {
	n := 0
	for _, o := range f.scenes {
		if r := o.Relative; r != nil && r.To == sc.Relative.To && r.Row == sc.Relative.Row && o.Platform.String() == sc.Platform.String() {
			n++
		}
	}
	return n
}

// compared is how many platforms of a case are compared with the baseline.
func compared(p *bench.Plan, f *ruling, name string) int {
	n := 0
	for _, o := range f.scenes {
		if o.Case == name && !o.Control && o.Platform.String() != p.Baseline {
			n++
		}
	}
	return n
}

// Deciding names the metrics that a rule asks about: the headline ones, or the first where there is
// none.
func Deciding(metrics []bench.Metric) []string {
	var names []string
	for _, m := range metrics {
		if m.Headline {
			names = append(names, m.Name)
		}
	}
	if names == nil && len(metrics) > 0 {
		names = []string{metrics[0].Name}
	}
	return names
}

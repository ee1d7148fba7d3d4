package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
)

// An Other is a case that is set against another on the same platform, by their names.
type Other struct{ Case, To string }

// baselineOf is the platform that a run is set against: the plan's, or another of its platforms.
func (s *study) baselineOf(p *bench.Plan, asked string) (string, error) {
	if asked == "" {
		return p.Baseline, nil
	}
	var names []string
	for _, l := range s.scenes {
		if l.platform == asked {
			return asked, nil
		}
		if !l.scene.Control && !slices.Contains(names, l.platform) {
			names = append(names, l.platform)
		}
	}
	return "", fmt.Errorf("the run has no platform %q%s: %w%w", asked, bench.DidYouMean(asked, names), bench.ErrInvalid, bench.Hint("it has "+strings.Join(names, ", ")))
}

// relate sets cases against others though the plan does not. Both need a metric in common and a
// platform, and a case is set against one other.
func (s *study) relate(p *bench.Plan, others []Other) error {
	cases := casesIn(p)
	for _, x := range others {
		for _, name := range []string{x.Case, x.To} {
			if p.Metrics[name] == nil {
				return fmt.Errorf("the run has no case %q%s: %w%w", name, bench.DidYouMean(name, cases), bench.ErrInvalid, bench.Hint("it has "+strings.Join(cases, ", ")))
			}
		}
		if x.Case == x.To {
			return fmt.Errorf("%s is set against itself: %w%w", x.Case, bench.ErrInvalid, bench.Hint("name two cases of "+strings.Join(cases, ", ")))
		}
		if !slices.ContainsFunc(p.Metrics[x.Case], func(m bench.Metric) bool { return slices.Contains(p.Metrics[x.To], m) }) {
			return fmt.Errorf("%s and %s have no metric in common: %w%w", x.Case, x.To, bench.ErrInvalid,
				bench.Hint(fmt.Sprintf("%s has %s, and %s %s", x.Case, metricsIn(p, x.Case), x.To, metricsIn(p, x.To))))
		}
		found := false
		for _, l := range s.scenes {
			if l.scene.Case != x.Case {
				continue
			}
			if l.scene.Relative != nil {
				return fmt.Errorf("%s is set against %s already: %w", x.Case, l.scene.Relative.To, bench.ErrInvalid)
			}
			i := slices.IndexFunc(s.scenes, func(o *launches) bool {
				return o.scene.Case == x.To && o.platform == l.platform && o.scene.Control == l.scene.Control
			})
			if i < 0 {
				continue
			}
			sc := *l.scene
			sc.Relative = &bench.Relative{To: x.To, Row: x.To, Column: x.Case}
			l.scene, l.alone, l.besides, found = &sc, s.scenes[i], true, true
		}
		if !found {
			return fmt.Errorf("no platform has both %s and %s: %w", x.Case, x.To, bench.ErrInvalid)
		}
	}
	return nil
}

// casesIn are the plan's cases in their order.
func casesIn(p *bench.Plan) []string {
	var all []string
	for _, sc := range p.Scenes {
		if !slices.Contains(all, sc.Case) {
			all = append(all, sc.Case)
		}
	}
	return all
}

func metricsIn(p *bench.Plan, name string) string {
	var all []string
	for _, m := range p.Metrics[name] {
		all = append(all, m.Name)
	}
	return strings.Join(all, ", ")
}

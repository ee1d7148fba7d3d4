package overhead

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/usage"
)

// cases works out every case in the plan's order.
func (s *study) cases(observed *observed) {
	at := map[string]int{}
	var scenes [][]*bench.Scene
	for i := range s.plan.Scenes {
		sc := &s.plan.Scenes[i]
		k, ok := at[sc.Case]
		if !ok {
			k = len(scenes)
			at[sc.Case] = k
			scenes = append(scenes, nil)
			s.result.Cases = append(s.result.Cases, result.Case{
				Name: sc.Case, Title: sc.Title, Kind: sc.Kind, Workload: workloadOf(sc), Resource: "other", Factors: sc.Factors, Conditions: sc.Conditions, MemoryPool: sc.MemoryPool,
			})
		}
		scenes[k] = append(scenes[k], sc)
	}
	for k := range s.result.Cases {
		c := &s.result.Cases[k]
		c.Resource = resourceOf(c)
		s.rows(c, scenes[k], observed)
		c.Pools = s.pools(scenes[k])
		c.SwapSpaces = s.swapSpaces(c, scenes[k])
		c.StartUp = s.startUps(scenes[k])
		if c.Kind == bench.Ramped {
			for _, sc := range scenes[k] {
				if row := s.crowd(sc); row != nil {
					c.Crowd = append(c.Crowd, *row)
				}
			}
		} else if c.Kind.Sampled() {
			for _, sc := range scenes[k] {
				c.Usage = append(c.Usage, usage.Of(sc, s.labels[sc.Platform.String()], observed.shares[sc.ID]))
			}
		}
		c.Answer = c.Say(s.plan.Baseline)
	}
}

// swapSpaces are those that launches of a case with swap as a condition found, each once.
func (s *study) swapSpaces(c *result.Case, scenes []*bench.Scene) string {
	if c.Conditions[bench.CondSwap] == "" {
		return ""
	}
	var all []string
	for _, sc := range scenes {
		for _, t := range s.scenes[sc.ID] {
			o := s.last[t.ID]
			if o == nil {
				continue
			}
			for _, a := range o.Actors {
				if f := a.Facts[bench.FactHostSwap]; f != "" && !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		}
	}
	return strings.Join(all, "; ")
}

func workloadOf(s *bench.Scene) string {
	for _, a := range s.Actors {
		if a.Role == bench.Subject {
			return a.Workload
		}
	}
	return ""
}

// resources by workload. The workloads know this too, but a result must be
// readable without them.
var resources = map[string]string{
	"sysbench-cpu": "cpu", "rewrite": "disk", "packages": "disk", "copyup": "disk", "stream": "memory", "fio": "disk", "working-set": "memory", "netperf": "network",
}

func resourceOf(c *result.Case) string {
	switch {
	case c.Kind.Moves():
		return string(bench.Migration)
	case !c.Kind.Sampled():
		return string(c.Kind)
	}
	if c.Kind == bench.Ramped {
		return "density"
	}
	if r, ok := resources[c.Workload]; ok {
		return r
	}
	return "other"
}

// rows fills a case's rows: the metrics in their order, of each the platforms.
func (s *study) rows(c *result.Case, scenes []*bench.Scene, observed *observed) {
	var base *bench.Scene
	for _, sc := range scenes {
		if sc.Platform.String() == s.plan.Baseline {
			base = sc
		}
	}
	audits := map[*bench.Scene]*audit.Audit{}
	for _, sc := range scenes {
		if sc != base {
			audits[sc] = s.audit(sc, base, c.Resource, observed)
		}
	}
	for _, m := range s.plan.Metrics[c.Name] {
		var native []result.Point
		if base != nil {
			native = s.points(base, m.Name)
		}
		for _, sc := range scenes {
			if m.Of != "" && m.Of != sc.Kind {
				continue
			}
			row := s.row(sc, m)
			if sc == base {
				row.Baseline = true
			} else {
				of := base != nil && (m.Of == "" || m.Of == base.Kind)
				if row.Effect = s.effect(&row, c.Name, of, native, audits[sc]); base != nil && !of {
					row.Effect.Why = fmt.Sprintf("the baseline, %s, moves in another way, which has no such figure", s.plan.Baseline)
				}
			}
			c.Rows = append(c.Rows, row)
		}
	}
	s.latencies(c, scenes, base, audits)
	s.energies(c, scenes, base, audits, observed.powers)
	s.schedulings(c, scenes, base, audits, observed)
}

func (s *study) points(sc *bench.Scene, metric string) []result.Point {
	points := []result.Point{}
	for _, o := range s.done(sc.ID) {
		for _, v := range o.Values {
			if v.Metric == metric {
				points = append(points, result.Point{Block: o.Block, Trial: o.Trial, Value: v.Value})
			}
		}
	}
	return points
}

func (s *study) row(sc *bench.Scene, m bench.Metric) result.Row {
	name := sc.Platform.String()
	row := result.Row{Metric: m, Platform: name, Label: s.labels[name], Points: s.points(sc, m.Name), Reproduce: s.reproduce(name)}
	row.N = len(row.Points)
	if row.N > 0 {
		row.Median = stats.Median(result.Values(row.Points))
	}
	for _, t := range s.scenes[sc.ID] {
		switch o := s.last[t.ID]; {
		case o == nil || o.Status == bench.Aborted:
			row.Missing++
		case o.Status == bench.Failed:
			row.Failed++
		case o.Status == bench.DidNotFinish:
			row.DNF++
		case o.Status == bench.Overdue:
			row.Overdue++
		}
	}
	row.Fairness = s.fairness(sc, m.Name)
	row.Warnings = s.rowWarnings(sc, &row)
	return row
}

// rowWarnings is what one must know of a row's launches.
func (s *study) rowWarnings(sc *bench.Scene, row *result.Row) []string {
	var out []string
	add := func(format string, args ...any) {
		if w := fmt.Sprintf(format, args...); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	launches := len(s.scenes[sc.ID])
	if row.Failed > 0 {
		add("%d of %d launches failed", row.Failed, launches)
	}
	if row.DNF > 0 {
		where := "beside the neighbour"
		if sc.MemoryPool > 0 {
			where = "in the pool of memory"
		}
		add("%d of %d launches did not finish %s", row.DNF, launches, where)
	}
	if row.Overdue > 0 {
		add("%d of %d launches were ended when the time of the cage was over, which says nothing of the platform", row.Overdue, launches)
	}
	if row.Missing > 0 {
		add("%d of %d launches are missing", row.Missing, launches)
	}
	done := s.done(sc.ID)
	if n := len(done) - row.N; n > 0 {
		add("%d finished launches have no value of %s", n, row.Metric.Name)
	}
	for _, o := range done {
		for _, w := range o.Warnings {
			add("%s", w)
		}
		for _, a := range o.Actors {
			for _, c := range a.Caveats {
				add("%s", c)
			}
			name := a.Actor
			if sc.Ramp != nil {
				name = "every instance"
			}
			if len(a.Unenforced) > 0 {
				add("%s: not enforced: %s", name, strings.Join(a.Unenforced, "; "))
			}
		}
	}
	for _, i := range stats.Outliers(result.Values(row.Points)) {
		p := row.Points[i]
		add("trial %s (%.4g %s) lies far from the other launches; it is counted", p.Trial, p.Value, row.Metric.Unit)
	}
	return out
}

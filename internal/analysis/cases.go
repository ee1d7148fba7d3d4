package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// caseData is what the tables of a case are made of: its launches on every platform.
type caseData struct {
	result  result.Case // what the plan says of it
	metrics []bench.Metric
	scenes  []*launches // in the plan's order
	base    *launches   // the baseline's; nil if it has no part
	control *launches   // the baseline's once more; nil if it was not measured twice
	audits  map[*launches]*audit.Audit
	fair    *auditor
}

// casesOf puts the scenes of each case together, in the plan's order, and audits them.
func casesOf(scenes []*launches, controls map[string]*launches, p *bench.Plan, fair *auditor) []*caseData {
	by := map[string]*caseData{}
	var all []*caseData
	for _, l := range scenes {
		sc := l.scene
		c := by[sc.Case]
		if c == nil {
			c = &caseData{metrics: p.Metrics[sc.Case], control: controls[sc.Case], audits: map[*launches]*audit.Audit{}, fair: fair, result: result.Case{
				Name: sc.Case, Title: sc.Title, Short: sc.Short, Kind: sc.Kind, Workload: workloadOf(sc), Factors: sc.Factors, Conditions: sc.Conditions, MemoryPool: sc.MemoryPool, Resource: resourceOf(p, sc),
			}}
			all, by[sc.Case] = append(all, c), c
		}
		c.scenes = append(c.scenes, l)
		if l.platform == p.Baseline {
			c.base = l
		}
	}
	for _, c := range all {
		c.metrics = slices.Concat(c.metrics, used(c.scenes))
		for _, l := range c.scenes {
			if l != c.base {
				c.audits[l] = fair.compare(l, c.base, c.result.Resource)
			}
		}
	}
	return all
}

// against are the points of a metric that platforms are compared with: the baseline's, and
// those of its control.
func (c *caseData) against(metric string) []result.Point {
	points := c.base.points(metric)
	if c.control != nil {
		points = append(points, c.control.points(metric)...)
	}
	return points
}

// partners are what values in turns are compared with: each is a ratio to the baseline already.
func partners(points []result.Point) []result.Point {
	ones := make([]result.Point, len(points))
	for i, p := range points {
		ones[i] = result.Point{Block: p.Block, Trial: p.Trial, Value: 1}
	}
	return ones
}

// table works a case out.
func (c *caseData) table(j *judge, repeat *again, meters []bench.PowerSource, p *powers) result.Case {
	out := c.result
	out.Rows = rows(c, j, repeat)
	out.Latency = latencies(c, j, out.Rows)
	out.Energy = energies(c, j, meters, p)
	out.Scheduling = schedulings(c, j)
	out.Pools = pools(c.scenes)
	out.SwapSpaces = swapSpaces(&out, c.scenes)
	out.StartUp = startUps(c.scenes)
	switch {
	case out.Kind == bench.Ramped:
		for _, l := range c.scenes {
			if row := density(l); row != nil {
				out.Density = append(out.Density, *row)
			}
		}
	case out.Kind.Sampled():
		for _, l := range c.scenes {
			out.Usage = append(out.Usage, usage.Of(l.scene, l.label, l.used))
		}
	}
	out.Answer = out.Say(j.baseline)
	return out
}

// swapSpaces are those that launches of a case with swap as a condition found, each once.
func swapSpaces(c *result.Case, scenes []*launches) string {
	if c.Conditions[bench.CondSwap] == "" {
		return ""
	}
	var all []string
	for _, l := range scenes {
		for _, t := range l.asked {
			if t.outcome == nil {
				continue
			}
			for _, a := range t.outcome.Actors {
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

// unrecorded are the resources by workload that a plan did not name when it was made
// before plans did. No workload is added here.
var unrecorded = map[string]string{
	"sysbench-cpu": "cpu", "rewrite": "disk", "packages": "disk", "copyup": "disk", "stream": "memory", "fio": "disk", "working-set": "memory", "netperf": "network",
}

// resourceOf is what a scene's case is about: of one that measures a workload, what
// that stresses.
func resourceOf(p *bench.Plan, sc *bench.Scene) string {
	switch {
	case sc.Kind.Moves():
		return string(bench.Migration)
	case !sc.Kind.Sampled():
		return string(sc.Kind)
	case sc.Kind == bench.Ramped:
		return "density"
	}
	return cmp.Or(p.Resources[sc.Case], unrecorded[workloadOf(sc)], "other")
}

// rows are a case's rows: the metrics in their order, of each the platforms.
func rows(c *caseData, j *judge, repeat *again) []result.Row {
	var all []result.Row
	loads := map[*launches]loadSide{} // nil, a case without a baseline, has none
	for _, l := range c.scenes {
		loads[l] = l.loadSide(c.metrics)
	}
	for _, m := range c.metrics {
		var native []result.Point
		if c.base != nil {
			native = c.against(m.Name)
		}
		for _, l := range c.scenes {
			if m.Of != "" && m.Of != l.scene.Kind {
				continue
			}
			row := rowOf(l, m)
			row.Reproduce = repeat.of(l.platform)
			if l == c.base {
				row.Baseline = true
			} else {
				of := c.base != nil && (m.Of == "" || m.Of == c.base.scene.Kind)
				base := native
				if l.scene.Turns > 0 && j.baseline == j.planned { // else both are ratios to the planned one
					base = partners(row.Points)
				}
				if row.Effect = j.effect(&row, c.result.Name, of, base, c.audits[l]); c.base != nil && !of {
					row.Effect.Why = fmt.Sprintf("the baseline, %s, moves in another way, which has no such figure", j.baseline)
				}
			}
			if row.Effect != nil {
				row.Effect.AddWhy(roundedTo(row.Effect, m, row.Median))
			}
			tellLoad(&row, loads[l], loads[c.base], j.baseline)
			for _, c := range c.audits[l].Caused() {
				row.Warnings = append(row.Warnings, fmt.Sprintf("%s: %s against %s: %s", c.Name, c.Subject, c.Baseline, c.Why))
			}
			all = append(all, row)
		}
	}
	for _, l := range c.scenes {
		tellSteadiness(all, l, j.margin)
	}
	correctFamily(all, j.baseline)
	questionWaiting(c, all)
	for i := range all {
		if e := all[i].Effect; e != nil {
			j.say(e, all[i].Metric)
		}
	}
	return all
}

// correctFamily corrects the verdicts of a case's headline rows, which share the
// baseline's launches. Those of other metrics are exploratory.
func correctFamily(rows []result.Row, baseline string) {
	var family []*result.Effect
	platforms := map[string]bool{}
	for i := range rows {
		switch e := rows[i].Effect; {
		case e == nil:
		case rows[i].Metric.Headline:
			family = append(family, e)
			platforms[rows[i].Platform] = true
		default:
			e.Exploratory = true
		}
	}
	what := fmt.Sprintf("the %d compared with %s", len(family), baseline)
	if len(platforms) == len(family) {
		what = fmt.Sprintf("the %d platforms compared with %s", len(family), baseline)
	}
	effect.Family(family, what)
}

// rowOf is a platform's row of a metric, compared with nothing yet.
func rowOf(l *launches, m bench.Metric) result.Row {
	fates := l.fates()
	row := result.Row{Metric: m, Platform: l.platform, Label: l.label, Points: l.points(m.Name), Fairness: l.fairness(m.Name), Alone: len(l.deserted),
		Missing: fates.Missing, Failed: fates.Failed, DNF: fates.DNF, Overdue: fates.Overdue}
	row.N = len(row.Points)
	if row.N > 0 {
		row.Median = stats.Median(result.Values(row.Points))
	}
	row.Warnings = rowWarnings(l, &row)
	return row
}

// rowWarnings is what one must know of a row's launches.
func rowWarnings(l *launches, row *result.Row) []string {
	var out []string
	add := func(format string, args ...any) {
		if w := fmt.Sprintf(format, args...); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	launches := len(l.asked)
	if row.Failed > 0 {
		add("%d of %d launches failed", row.Failed, launches)
	}
	if row.DNF > 0 {
		where := "beside the neighbour"
		if l.scene.MemoryPool > 0 {
			where = "in the pool of memory"
		}
		add("%d of %d launches did not finish %s", row.DNF, launches, where)
	}
	if row.Alone > 0 {
		add("%d of %d launches do not count, for they had no neighbour: it ended %s", row.Alone, launches, deserted(l.deserted[0]))
	}
	if row.Overdue > 0 {
		add("%d of %d launches were ended by the time limit of the containment, which says nothing of the platform", row.Overdue, launches)
	}
	if row.Missing > 0 {
		add("%d of %d launches are missing", row.Missing, launches)
	}
	repeated, disturbed := l.disturbed()
	if repeated > 0 {
		add("%d of %d launches were repeated, for other work on the host", repeated, launches)
	}
	if disturbed > 0 {
		add("%d of %d launches count although other work held the host", disturbed, launches)
	}
	if n := len(l.done) - row.N; n > 0 {
		add("%d finished launches have no value of %s", n, row.Metric.Name)
	}
	for _, o := range l.done {
		for _, w := range o.Warnings {
			add("%s", w)
		}
		for _, a := range o.Actors {
			for _, c := range a.Caveats {
				add("%s", c)
			}
			name := a.Actor
			if l.scene.Ramp != nil {
				name = "every instance"
			}
			if len(a.Unenforced) > 0 {
				add("%s: not enforced: %s", name, strings.Join(a.Unenforced, "; "))
			}
		}
	}
	for _, i := range stats.Outliers(result.Values(row.Points)) {
		p := row.Points[i]
		add("trial %s (%s) lies far from the other launches; it is counted", p.Trial, figure.Quantity(p.Value, row.Metric.Unit))
	}
	return out
}

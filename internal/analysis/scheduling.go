package analysis

import (
	"fmt"
	"slices"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
)

// paces are the quantities in their order, with the columns they are made of.
// Executions are neither good nor bad.
var paces = []struct {
	metric         bench.Metric
	count, divisor string // the rate of count or, with a divisor, their ratio
	scale          float64
}{
	{bench.Metric{Name: result.Executions, Unit: "1/s", Combine: bench.Mean, Doc: "times a task of the domain was put on a CPU, per second"}, bench.ColSchedExecutions, "", 1},
	{bench.Metric{Name: result.PerExecution, Unit: "us", Combine: bench.Mean, Doc: "CPU time of the domain by its executions"}, bench.ColSchedRun, bench.ColSchedExecutions, 1e6},
	{bench.Metric{Name: result.Waited, Unit: "ms/s", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "time that tasks of the domain were ready to run and had no CPU, all together, per second"}, bench.ColSchedWait, "", 1e3},
	{bench.Metric{Name: result.VCPU + result.Executions, Unit: "1/s", Combine: bench.Mean, Doc: "the same of the threads that are the domain's virtual CPUs"}, bench.ColSchedVCPUExecutions, "", 1},
	{bench.Metric{Name: result.VCPU + result.PerExecution, Unit: "us", Combine: bench.Mean, Doc: "the same of the threads that are the domain's virtual CPUs"}, bench.ColSchedVCPURun, bench.ColSchedVCPUExecutions, 1e6},
	{bench.Metric{Name: result.VCPU + result.Waited, Unit: "ms/s", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "the same of the threads that are the domain's virtual CPUs"}, bench.ColSchedVCPUWait, "", 1e3},
}

// apartAtMost is how many domains of one role have a row each. Idle ones, of
// which one is as the other, have one together.
const apartAtMost = 4

// A domains is what has a row: an actor, or all of a role.
type domains struct {
	name   string
	actors []*bench.Actor
}

// domainsOf are a scene's, subjects first.
func domainsOf(sc *bench.Scene) []domains {
	var out []domains
	for _, role := range []bench.Role{bench.Subject, bench.Member, bench.Neighbour, bench.Idle} {
		var group []domains
		all := domains{name: string(role)}
		for i := range sc.Actors {
			if a := &sc.Actors[i]; a.Role == role && a.Containment == nil && (a.Serves == "" || role == bench.Member) {
				group = append(group, domains{a.Name, []*bench.Actor{a}})
				all.actors = append(all.actors, a)
			}
		}
		if len(group) > apartAtMost || len(group) > 1 && role == bench.Idle {
			group = []domains{all}
		}
		out = append(out, group...)
	}
	return out
}

// schedulings are a case's rows: the platforms in their order, of each the domains.
func schedulings(c *caseData, j *judge) []result.Scheduling {
	kind := c.result.Kind
	if !kind.Sampled() || kind == bench.Ramped || kind == bench.Idling {
		return nil
	}
	native := map[string]*result.Scheduling{}
	if c.base != nil {
		for _, d := range domainsOf(c.base.scene) {
			row := schedulingOf(c.base, d)
			native[d.name] = &row
		}
	}
	var rows []result.Scheduling
	for _, l := range c.scenes {
		for _, d := range domainsOf(l.scene) {
			row := schedulingOf(l, d)
			if row.N == 0 && row.Why == "" {
				continue
			}
			row.Baseline = l == c.base
			for i := range row.Quantities {
				q := &row.Quantities[i]
				if b := native[d.name]; l != c.base && b != nil && b.Of(q.Metric.Name) != nil {
					like := result.Row{Metric: q.Metric, Platform: row.Platform, Points: q.Points}
					q.Effect = j.effect(&like, c.result.Name, true, b.Of(q.Metric.Name).Points, c.audits[l])
					q.Effect.Audit = nil // it is with the rows
					q.Effect.Exploratory = true
					j.say(q.Effect, q.Metric)
				}
				if l.alone != nil && row.Role == bench.Subject {
					q.Alone = besideAlone(l, q, j, c.fair)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// besideAlone compares a subject's quantity with that of the launches its own are set
// against; nil if these have none.
func besideAlone(l *launches, q *result.Quantity, j *judge, fair *auditor) *result.Effect {
	row := schedulingOf(l.alone, domainsOf(l.alone.scene)[0])
	base := row.Of(q.Metric.Name)
	if base == nil {
		return nil
	}
	level, _ := j.level(l.scene.Case, l.platform)
	e := j.alike(q.Points, base.Points, q.Metric.Better, level)
	e.Caution = j.caution(l.platform)
	effect.Judge(e, fair.changed(l), j.allowUnfair)
	e.Exploratory = true
	j.say(e, q.Metric)
	e.Audit = nil
	return e
}

// schedulingOf gathers the launches of one row.
func schedulingOf(l *launches, d domains) result.Scheduling {
	row := result.Scheduling{Platform: l.platform, Label: l.label, Domain: d.name, Role: d.actors[0].Role,
		On: d.actors[0].Platform.String(), Domains: len(d.actors), Quantities: []result.Quantity{}}
	quantities := make([]result.Quantity, len(paces))
	lower, lacking, unended := false, map[string]int{}, false
	for _, out := range l.done {
		sh := l.usage[out.Trial]
		if sh == nil {
			continue
		}
		var p pace
		for _, a := range d.actors {
			if why := p.add(sh, out, a.Name); why != "" {
				p.why = why
				break
			}
		}
		if p.why != "" {
			if p.why != notRead {
				lacking[p.why]++
			}
			continue
		}
		row.N++
		if row.On != l.platform {
			row.Label = labelOf(out, d.actors[0].Name)
		}
		lower, unended = lower || p.lower, unended || p.values[0] == 0 && p.values[1] > 0
		for i := range paces {
			if v, ok := p.of(i); ok {
				quantities[i].Points = append(quantities[i].Points, result.Point{Block: out.Block, Trial: out.Trial, Value: v})
			}
		}
	}
	for i, q := range quantities {
		if len(q.Points) > 0 {
			q.Metric, q.Median = paces[i].metric, stats.Median(result.Values(q.Points))
			row.Quantities = append(row.Quantities, q)
		}
	}
	for _, why := range sorted(lacking) {
		if row.N == 0 {
			row.Why = why
			break
		}
		row.Notes = append(row.Notes, fmt.Sprintf("not known of %d launches: %s", lacking[why], why))
	}
	if lower {
		row.Notes = append(row.Notes, "tasks that ended within the window are not in it: executions and waiting are lower bounds, CPU time per execution an upper one")
	}
	if d.actors[0].Platform.On != nil {
		row.Notes = append(row.Notes, "as the host sees it: the outer machine with all that is in it")
	}
	if unended {
		row.Notes = append(row.Notes, "in some launches nothing was put on a CPU anew: what ran there ran through the whole window")
	}
	return row
}

// labelOf is what an actor wore in a launch.
func labelOf(out *bench.Outcome, actor string) string {
	for _, a := range out.Actors {
		if a.Actor == actor {
			return a.Label
		}
	}
	return ""
}

// notRead is why there are no figures of runs without the meter, which is not said.
const notRead = "was not read"

// pace is what the domains of a row did in one launch, added up.
type pace struct {
	values  [6]float64 // rates of schedColumns
	domains int
	vcpus   int  // of them with virtual CPUs
	lower   bool // the figures are bounds
	why     string
}

var schedColumns = [...]string{bench.ColSchedExecutions, bench.ColSchedRun, bench.ColSchedWait,
	bench.ColSchedVCPUExecutions, bench.ColSchedVCPURun, bench.ColSchedVCPUWait}

// add adds an actor's, or says why it cannot.
func (p *pace) add(s *usage.Launch, out *bench.Outcome, actor string) (why string) {
	i := slices.IndexFunc(out.Actors, func(a bench.ActorOutcome) bool { return a.Actor == actor })
	if i >= 0 && out.Actors[i].Scope != nil && out.Actors[i].Scope.Domain != 0 {
		return "Xen counts no executions of a domain: only its trace buffers show them, at a price for each"
	}
	t := s.Counters(usage.Source{Level: bench.Layer, Actor: actor, Meter: bench.MeterSched})
	if t == nil {
		return notRead
	}
	p.domains++
	for i, column := range schedColumns {
		v, lack := t.Rate(column, s.Window)
		if lack == "" {
			p.values[i] += v
			if column == bench.ColSchedVCPUExecutions {
				p.vcpus++
			}
		} else if i < 3 {
			return "the scheduler's meter " + string(lack)
		}
	}
	_, unknown := t.Level(bench.ColSchedExits)
	p.lower = p.lower || unknown != ""
	return ""
}

// of is a quantity, a domain's mean.
func (p *pace) of(i int) (float64, bool) {
	at := func(column string) float64 { return p.values[slices.Index(schedColumns[:], column)] }
	q := paces[i]
	n := p.domains
	if i >= 3 {
		n = p.vcpus
	}
	if n == 0 {
		return 0, false
	}
	if q.divisor == "" {
		return q.scale * at(q.count) / float64(n), true
	}
	if at(q.divisor) == 0 {
		return 0, false
	}
	return q.scale * at(q.count) / at(q.divisor), true
}

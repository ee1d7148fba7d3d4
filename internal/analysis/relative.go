package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// relativeTable makes the table of the scenes that are set against others.
type relativeTable struct {
	judge    *judge
	fair     *auditor
	metrics  map[string][]bench.Metric // by case
	warnings warnings
}

// of is the table of the scenes among all; nil if there is none.
func (t *relativeTable) of(scenes []*launches) *result.Matrix {
	m := &result.Matrix{}
	for _, l := range scenes {
		if r := l.scene.Relative; r != nil && !slices.Contains(m.Columns, r.Column) {
			m.Columns = append(m.Columns, r.Column)
		}
	}
	for _, l := range scenes {
		if l.scene.Relative != nil {
			t.relate(m, l)
		}
	}
	if len(m.Rows) == 0 {
		return nil
	}
	t.compare(m)
	return m
}

// relate adds the cells of a scene, one for each metric.
func (t *relativeTable) relate(m *result.Matrix, l *launches) {
	r, platform := l.scene.Relative, l.platform
	if l.alone == nil {
		t.warnings.add("%s is set against %s, which was not measured on %s", l.scene.Case, r.To, platform)
		return
	}
	fair, differs := t.fair.changed(l), audit.Differences(l.scene, l.alone.scene)
	for _, metric := range t.metrics[l.scene.Case] {
		base := l.alone.points(metric.Name)
		k := slices.IndexFunc(m.Rows, func(x result.MatrixRow) bool {
			return x.Row == r.Row && x.Platform == platform && x.Metric.Name == metric.Name && x.Case == r.To
		})
		if k < 0 {
			k = len(m.Rows)
			row := result.MatrixRow{Row: r.Row, Case: r.To, Platform: platform, Label: l.label, Baseline: platform == t.judge.baseline,
				Metric: metric, N: len(base), Cells: make([]*result.MatrixCell, len(m.Columns))}
			if len(base) > 0 {
				row.Alone = stats.Median(result.Values(base))
			}
			m.Rows = append(m.Rows, row)
		}
		for _, c := range slices.Concat(l.caveats(), l.alone.caveats()) {
			if !slices.Contains(m.Rows[k].Caveats, c) {
				m.Rows[k].Caveats = append(m.Rows[k].Caveats, c)
			}
		}
		c := t.cell(l, metric, base, fair)
		c.Differs = differs
		m.Rows[k].Cells[slices.Index(m.Columns, r.Column)] = c
	}
}

// cell sets a scene's launches against the points of another's.
func (t *relativeTable) cell(l *launches, metric bench.Metric, base []result.Point, fair *audit.Audit) *result.MatrixCell {
	own, fates := l.points(metric.Name), l.fates()
	c := &result.MatrixCell{Case: l.scene.Case, SharedCPUs: sharesCPUs(l.scene), Besides: l.besides, Launches: len(l.asked), Fairness: l.fairness(metric.Name),
		Missing: fates.Missing, Failed: fates.Failed, Overdue: fates.Overdue, DNF: fates.DNF, Alone: len(l.deserted), N: len(own)}
	if c.Alone > 0 {
		c.AloneWhy = deserted(l.deserted[0])
	}
	for _, n := range l.asked {
		o := n.outcome
		if o == nil || o.Status == bench.Aborted || slices.Contains(l.deserted, o) {
			continue
		}
		switch gone := slices.IndexFunc(o.Actors, func(a bench.ActorOutcome) bool { return a.Ended != "" }); {
		case o.Watch != nil && o.Watch.Ended != "":
			c.Ended++
		case gone >= 0 && (o.Watch == nil || !o.Watch.Overdue):
			c.Gone++
			if by := o.Actors[gone].EndedBy; o.Watch != nil && by != "" {
				c.Stopped, c.StoppedBy = c.Stopped+1, cmp.Or(c.StoppedBy, by)
			}
		}
	}
	level, _ := t.judge.ends.Level(l.scene.Case, l.platform)
	of, _ := t.judge.ends.Level(l.alone.scene.Case, l.platform)
	level = max(level, of) // a plan's own end together
	c.Effect = t.judge.alike(own, base, metric.Better, level)
	c.Effect.Caution = t.judge.caution(l.platform)
	effect.Judge(c.Effect, fair, t.judge.allowUnfair)
	if c.Alone > 0 {
		c.Effect.AddWhy(fmt.Sprintf("in %d of %d launches there was no neighbour: it ended %s", c.Alone, c.Launches, c.AloneWhy))
	}
	if c.Effect.Ratio > 0 {
		c.Kept, c.Low, c.High = c.Effect.Ratio, c.Effect.Low, c.Effect.High
		if metric.Better == bench.LowerIsBetter {
			c.Kept = 1 / c.Kept
			if c.High > 0 {
				c.Low, c.High = 1/c.High, 1/c.Low
			}
		}
	}
	return c
}

// deserted says how the neighbours of a launch ended, if all of them did before half of the window was
// over; "" if not. That one is stopped which means harm, by a limit of its own or by the watchdog, is a
// finding, whenever that is.
func deserted(o *bench.Outcome) (why string) {
	if o.Window[1] <= o.Window[0] || o.Watch != nil && (o.Watch.Ended != "" || o.Watch.Overdue) {
		return ""
	}
	for _, a := range o.Actors {
		switch half := o.Window[0] + (o.Window[1]-o.Window[0])/2; {
		case a.Role != bench.Neighbour:
		case a.EndedAt == 0 || a.EndedAt > half, o.Watch != nil && a.EndedBy != "":
			return ""
		default:
			why = a.Ended
		}
	}
	return why
}

// sharesCPUs says whether a scene's subjects share CPUs with a neighbour.
func sharesCPUs(s *bench.Scene) bool {
	for _, subject := range s.Actors {
		for _, neighbour := range s.Actors {
			if subject.Role == bench.Subject && neighbour.Role == bench.Neighbour &&
				slices.ContainsFunc(subject.CPUSet, func(cpu int) bool { return slices.Contains(neighbour.CPUSet, cpu) }) {
				return true
			}
		}
	}
	return false
}

// compare sets what each platform keeps against what the baseline keeps,
// block by block: the ratio of two ratios, each within one platform.
func (t *relativeTable) compare(m *result.Matrix) {
	for i := range m.Rows {
		row := &m.Rows[i]
		k := slices.IndexFunc(m.Rows, func(x result.MatrixRow) bool {
			return x.Baseline && x.Row == row.Row && x.Case == row.Case && x.Metric.Name == row.Metric.Name
		})
		if row.Baseline || k < 0 {
			continue
		}
		for j, c := range row.Cells {
			base := m.Rows[k].Cells[j]
			if c == nil || base == nil {
				continue
			}
			if c.Effect.Verdict == result.Unfair || base.Effect.Verdict == result.Unfair {
				c.Against = &result.Effect{Verdict: result.Unfair, Ratios: []result.Point{}, Caution: c.Effect.Caution, Words: "no comparison with " + t.judge.baseline + ": one of the two is unfair"}
				continue
			}
			if why := lost(c, row.Platform, base, t.judge.baseline); why != "" {
				c.Against = refused(why)
				c.Against.Caution = c.Effect.Caution
				c.Against.Words = c.SayAgainst(base, t.judge.baseline)
				continue
			}
			level, _ := t.judge.level(c.Case, row.Platform)
			c.Against = t.judge.alike(c.Shares(row.Metric), base.Shares(row.Metric), bench.HigherIsBetter, level)
			c.Against.Caution = c.Effect.Caution
		}
	}
	t.correct(m)
}

// correct corrects the verdicts of cells that share launches: those of a row, set
// against the same scene, and those of a column, set against the baseline's cell. Then
// it says them in words.
func (t *relativeTable) correct(m *result.Matrix) {
	columns := map[string][]*result.Effect{}
	for _, row := range m.Rows {
		var cells []*result.Effect
		for j, c := range row.Cells {
			if c == nil {
				continue
			}
			cells = append(cells, c.Effect)
			c.Effect.Exploratory = !row.Metric.Headline
			if c.Against != nil {
				key := fmt.Sprint(j, row.Row, row.Case, row.Metric.Name)
				columns[key] = append(columns[key], c.Against)
				c.Against.Exploratory = !row.Metric.Headline
			}
		}
		if row.Metric.Headline {
			effect.Family(cells, fmt.Sprintf("the %d set against %s", len(cells), row.Case))
		}
	}
	for _, against := range columns {
		if !against[0].Exploratory {
			effect.Family(against, fmt.Sprintf("the %d platforms compared with %s", len(against), t.judge.baseline))
		}
	}
	for _, row := range m.Rows {
		k := slices.IndexFunc(m.Rows, func(x result.MatrixRow) bool {
			return x.Baseline && x.Row == row.Row && x.Case == row.Case && x.Metric.Name == row.Metric.Name
		})
		for j, c := range row.Cells {
			if c == nil {
				continue
			}
			c.Words = c.Say()
			if c.Against != nil && c.Against.Words == "" {
				c.Against.Words = c.SayAgainst(m.Rows[k].Cells[j], t.judge.baseline)
			}
		}
	}
}

// lost says of which platform a cell has launches without a ratio, and why; "" if of neither.
func lost(c *result.MatrixCell, platform string, base *result.MatrixCell, baseline string) string {
	var all []string
	if c.Lost() {
		all = append(all, platform+": "+c.Effect.Why)
	}
	if base.Lost() {
		all = append(all, baseline+": "+base.Effect.Why)
	}
	return strings.Join(all, "; ")
}

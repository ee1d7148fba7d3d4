package overhead

import (
	"slices"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/effect"
	"tare/internal/result"
	"tare/internal/stats"
)

// relative makes the table of the scenes that are set against others.
func (s *study) relative(observed *observed) {
	m := &result.Matrix{}
	for i := range s.plan.Scenes {
		if r := s.plan.Scenes[i].Relative; r != nil && !slices.Contains(m.Columns, r.Column) {
			m.Columns = append(m.Columns, r.Column)
		}
	}
	for i := range s.plan.Scenes {
		s.relate(m, &s.plan.Scenes[i], observed)
	}
	if len(m.Rows) == 0 {
		return
	}
	s.compareKept(m)
	s.result.Relative = m
}

// relate adds the cells of a scene, one for each metric.
func (s *study) relate(m *result.Matrix, sc *bench.Scene, observed *observed) {
	r := sc.Relative
	if r == nil {
		return
	}
	platform := sc.Platform.String()
	alone := s.plan.Scene(r.To + "/" + platform)
	if alone == nil {
		s.warn("%s is set against %s, which was not measured on %s", sc.Case, r.To, platform)
		return
	}
	fair, differs, caveats := s.changed(sc, alone, observed), differences(sc, alone), s.caveats(sc, alone)
	for _, metric := range s.plan.Metrics[sc.Case] {
		base := s.points(alone, metric.Name)
		k := slices.IndexFunc(m.Rows, func(x result.MatrixRow) bool {
			return x.Row == r.Row && x.Platform == platform && x.Metric.Name == metric.Name && x.Case == r.To
		})
		if k < 0 {
			k = len(m.Rows)
			row := result.MatrixRow{Row: r.Row, Case: r.To, Platform: platform, Label: s.labels[platform], Baseline: platform == s.plan.Baseline,
				Metric: metric, N: len(base), Cells: make([]*result.MatrixCell, len(m.Columns))}
			if len(base) > 0 {
				row.Alone = stats.Median(result.Values(base))
			}
			m.Rows = append(m.Rows, row)
		}
		for _, c := range caveats {
			if !slices.Contains(m.Rows[k].Caveats, c) {
				m.Rows[k].Caveats = append(m.Rows[k].Caveats, c)
			}
		}
		c := s.cell(sc, metric, base, fair)
		c.Differs = differs
		m.Rows[k].Cells[slices.Index(m.Columns, r.Column)] = c
	}
}

// cell sets a scene's launches against the points of another's.
func (s *study) cell(sc *bench.Scene, metric bench.Metric, base []result.Point, fair *audit.Audit) *result.MatrixCell {
	own := s.points(sc, metric.Name)
	c := &result.MatrixCell{Case: sc.Case, N: len(own), Launches: len(s.scenes[sc.ID])}
	for _, t := range s.scenes[sc.ID] {
		o := s.last[t.ID]
		switch {
		case o == nil || o.Status == bench.Aborted:
			c.Missing++
			continue
		case o.Status == bench.Failed:
			c.Failed++
		case o.Status == bench.Overdue:
			c.Overdue++
		case o.Status == bench.DidNotFinish:
			c.DNF++
		}
		switch gone := slices.ContainsFunc(o.Actors, func(a bench.ActorOutcome) bool { return a.Ended != "" }); {
		case o.Watch != nil && o.Watch.Ended != "":
			c.Ended++
		case gone && (o.Watch == nil || !o.Watch.Overdue):
			c.Gone++
		}
	}
	c.Fairness = s.fairness(sc, metric.Name)
	level, _ := s.ends.Level(sc.Case, sc.Platform.String())
	c.Effect = s.relativeEffect(own, base, metric.Better, level)
	c.Effect.Caution = s.caution(sc.Platform.String())
	effect.Judge(c.Effect, fair, s.options.AllowUnfair)
	if c.Effect.Ratio > 0 {
		c.Kept, c.Low, c.High = c.Effect.Ratio, c.Effect.Low, c.Effect.High
		if metric.Better == bench.LowerIsBetter {
			c.Kept = 1 / c.Kept
			if c.High > 0 {
				c.Low, c.High = 1/c.High, 1/c.Low
			}
		}
	}
	c.Words = c.Say()
	return c
}

// relativeEffect compares two sets of launches of one platform, paired by block.
// Its ratios are of two trials and name neither.
func (s *study) relativeEffect(own, base []result.Point, better bench.Direction, level float64) *result.Effect {
	e := effect.Of(own, base, effect.Terms{Better: better, Level: level, Margin: s.plan.Margin, Pair: bothFinished})
	for i := range e.Ratios {
		e.Ratios[i].Trial = ""
	}
	return e
}

// compareKept sets what each platform keeps against what the baseline keeps,
// block by block: the ratio of two ratios, each within one platform.
func (s *study) compareKept(m *result.Matrix) {
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
				c.Against = &result.Effect{Verdict: result.Unfair, Ratios: []result.Point{}, Caution: c.Effect.Caution, Words: "no comparison with " + s.plan.Baseline + ": one of the two is unfair"}
				continue
			}
			level, _ := s.ends.Level(c.Case, row.Platform)
			c.Against = s.relativeEffect(c.Shares(row.Metric), base.Shares(row.Metric), bench.HigherIsBetter, level)
			c.Against.Caution = c.Effect.Caution
			c.Against.Words = c.SayAgainst(base, s.plan.Baseline)
		}
	}
}

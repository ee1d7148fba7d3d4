package analysis

import "tare/internal/result"

// withoutControls are the scenes of platforms, and by case those of the baseline once more.
func withoutControls(scenes []*launches) (platforms []*launches, controls map[string]*launches) {
	controls = map[string]*launches{}
	for _, l := range scenes {
		if l.scene.Control {
			controls[l.scene.Case] = l
			continue
		}
		platforms = append(platforms, l)
	}
	return platforms, controls
}

// controlsOf compares the baseline with itself in each case, and says what the rows of the tables
// would have found; nil if no case has a control.
func controlsOf(cases []*caseData, tables []result.Case, j *judge) *result.Controls {
	out := &result.Controls{Baseline: j.baseline}
	for i, c := range cases {
		l := c.control
		if c.base != nil && c.base.scene.Turns > 0 {
			l = c.base // with its partner, which is another launch of it
		}
		if l == nil || c.base == nil {
			continue
		}
		fair := c.fair.compare(l, c.base, c.result.Resource)
		for _, m := range c.metrics {
			if !m.Headline || m.Of != "" && m.Of != l.scene.Kind {
				continue
			}
			own := rowOf(l, m)
			base := c.base.points(m.Name)
			if l == c.base {
				base = partners(base)
			}
			row := result.ControlRow{Case: c.result.Name, Metric: m, Effect: j.effect(&own, c.result.Name, true, base, fair)}
			j.say(row.Effect, m)
			if row.Effect.HasRatio() {
				out.Of++
				if row.Holds() {
					out.Hold++
				}
			}
			row.Detectable, row.Platform = detectable(tables[i].Rows, m.Name)
			out.Rows = append(out.Rows, row)
		}
	}
	if len(out.Rows) == 0 {
		return nil
	}
	out.Words = out.Say()
	return out
}

// detectable is the smallest change that every row of a metric would have found, as a share, and
// the platform of the row that needs the largest; 0 if none has an interval of some width.
func detectable(rows []result.Row, metric string) (most float64, platform string) {
	for i := range rows {
		e := rows[i].Effect
		if rows[i].Metric.Name != metric || e == nil || !e.HasRatio() {
			continue
		}
		if e.Finds > most {
			most, platform = e.Finds, rows[i].Platform
		}
	}
	return most, platform
}

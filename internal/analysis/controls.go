package analysis

import (
	"math"

	"tare/internal/analysis/stats"
	"tare/internal/result"
)

// power is how often a change of the size that a control states would be found.
const power = 0.9

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

// controlsOf compares the baseline with itself in each case; nil if no case has a control.
func controlsOf(cases []*caseData, j *judge) *result.Controls {
	out := &result.Controls{Baseline: j.baseline}
	for _, c := range cases {
		l := c.control
		if l == nil || c.base == nil {
			continue
		}
		fair := c.fair.compare(l, c.base, c.result.Resource)
		for _, m := range c.metrics {
			if !m.Headline || m.Of != "" && m.Of != l.scene.Kind {
				continue
			}
			own := rowOf(l, m)
			row := result.ControlRow{Case: c.result.Name, Metric: m, Effect: j.effect(&own, c.result.Name, true, c.base.points(m.Name), fair)}
			j.say(row.Effect, m)
			if row.Effect.HasRatio() {
				out.Of++
				if row.Holds() {
					out.Hold++
				}
				if d, err := stats.Detectable(againstBoth(row.Effect.Ratios), row.Effect.Confidence, power); err == nil {
					row.Detectable = d
				}
			}
			out.Rows = append(out.Rows, row)
		}
	}
	if len(out.Rows) == 0 {
		return nil
	}
	out.Words = out.Say()
	return out
}

// againstBoth are ratios that scatter as those of a platform do where the baseline was launched
// twice: of one launch against the mean of two, a logarithm has three quarters of the variance that
// it has of one against one.
func againstBoth(ratios []result.Point) []float64 {
	out := make([]float64, len(ratios))
	for i, r := range ratios {
		out[i] = math.Pow(r.Value, math.Sqrt(0.75))
	}
	return out
}

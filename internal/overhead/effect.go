package overhead

import (
	"fmt"
	"strings"

	"tare/internal/audit"
	"tare/internal/effect"
	"tare/internal/result"
)

// bothFinished is what is so of a block with a ratio.
const bothFinished = "in which both finished"

// effect compares a row with the baseline's points, paired by block.
func (s *study) effect(row *result.Row, caseName string, compared bool, base []result.Point, fair *audit.Audit) *result.Effect {
	level, planned := s.ends.Level(caseName, row.Platform)
	e := effect.Of(row.Points, base, effect.Terms{Better: row.Metric.Better, Level: level, Margin: s.plan.Margin, Pair: bothFinished})
	if compared {
		effect.Doubt(e, planned)
		effect.Test(e, s.plan.Margin)
	} else {
		effect.Refuse(e, s.noPart())
	}
	e.Caution = s.caution(row.Platform)
	effect.Judge(e, fair, s.options.AllowUnfair)
	e.Words = e.Say(row.Metric, s.plan.Margin)
	return e
}

// noPart says why nothing is compared in a case without the baseline.
func (s *study) noPart() string {
	return fmt.Sprintf("the baseline, %s, has no part in this case", s.plan.Baseline)
}

// refused is an effect of which nothing can be said.
func refused(why string) *result.Effect {
	return &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}, Why: why}
}

// overTheTable corrects the tests of the result's headline effects for their number.
func (s *study) overTheTable() {
	var rows []*result.Row
	for i := range s.result.Cases {
		for j := range s.result.Cases[i].Rows {
			row := &s.result.Cases[i].Rows[j]
			if row.Metric.Headline && row.Effect != nil && row.Effect.HasRatio() {
				rows = append(rows, row)
			}
		}
	}
	effect.Correct(rows)
}

// caution is not empty if the platform or the baseline wears a label.
func (s *study) caution(platform string) string {
	for _, label := range []string{s.labels[platform], s.labels[s.plan.Baseline]} {
		switch {
		case strings.HasPrefix(label, "emulated"), strings.HasPrefix(label, "nested in tcg"):
			return label + ": not a finding about virtual machines"
		case label != "":
			return label + ": not measured like the others"
		}
	}
	return ""
}

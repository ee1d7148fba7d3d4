package analysis

import (
	"fmt"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/analysis/stop"
	"tare/internal/bench"
	"tare/internal/result"
)

// bothFinished is what a ratio is of.
const bothFinished = "pair of finished launches"

// judge says what a comparison of launches shows, by the terms of a run.
type judge struct {
	baseline    string
	planned     string // the baseline that the run was planned with
	margin      float64
	rare        float64
	ends        *stop.Ends
	labels      map[string]string // by platform
	allowUnfair bool
}

// effect compares a row with the baseline's points, paired by block. Without compared the
// baseline has no such points, and the effect says so.
func (j *judge) effect(row *result.Row, caseName string, compared bool, base []result.Point, fair *audit.Audit) *result.Effect {
	level, planned := j.level(caseName, row.Platform)
	e := effect.Of(row.Points, base, effect.Terms{Better: row.Metric.Better, Level: level, Margin: j.margin, Rare: j.rare, Adds: row.Metric.Adds, Pair: bothFinished})
	if compared {
		effect.Doubt(e, planned)
		effect.Test(e, j.margin)
	} else {
		effect.Refuse(e, j.noPart())
	}
	e.Caution = j.caution(row.Platform)
	effect.Judge(e, fair, j.allowUnfair)
	return e
}

// level is the confidence at which a platform's intervals in a case are made, and how many blocks it has
// if it is complete. Beside another baseline than the planned one, which ended by itself, both count.
func (j *judge) level(caseName, platform string) (level float64, blocks int) {
	level, blocks = j.ends.Level(caseName, platform)
	if j.baseline != j.planned {
		l, b := j.ends.Level(caseName, j.baseline)
		level, blocks = max(level, l), min(blocks, b)
	}
	return level, blocks
}

// say says an effect of a metric in words, and what may decide it.
func (j *judge) say(e *result.Effect, m bench.Metric) {
	effect.Undecided(e, j.margin)
	e.Words = e.Say(m, j.margin)
}

// alike compares two sets of launches of one platform, paired by block.
// Its ratios are of two trials and name neither.
func (j *judge) alike(own, base []result.Point, better bench.Direction, level float64) *result.Effect {
	e := effect.Of(own, base, effect.Terms{Better: better, Level: level, Margin: j.margin, Rare: j.rare, Pair: bothFinished})
	for i := range e.Ratios {
		e.Ratios[i].Trial = ""
	}
	return e
}

// noPart says why nothing is compared in a case without the baseline.
func (j *judge) noPart() string {
	return fmt.Sprintf("the baseline, %s, has no part in this case", j.baseline)
}

// caution is not empty if the platform or the baseline wears a label.
func (j *judge) caution(platform string) string {
	for _, name := range []string{platform, j.baseline} {
		label, said := j.labels[name], ""
		if name == j.baseline && name != platform {
			said = "the baseline is "
		}
		switch {
		case strings.HasPrefix(label, "emulated"), strings.HasPrefix(label, "nested in tcg"):
			return said + label + ": not a finding about virtual machines"
		case label != "":
			return said + label + ": not measured like the others"
		}
	}
	return ""
}

// refused is an effect of which nothing can be said.
func refused(why string) *result.Effect {
	return &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}, Why: why}
}

package overhead

import (
	"errors"
	"fmt"
	"strings"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
	"tare/internal/stats"
)

// effect compares a row with the baseline's points, paired by block.
func (s *study) effect(row *result.Row, caseName string, compared bool, base []result.Point, fair *audit.Audit) *result.Effect {
	e := &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}, Caution: s.caution(row.Platform)}
	trials := map[int]string{}
	value, baseline := map[int]float64{}, map[int]float64{}
	for _, p := range row.Points {
		value[p.Block], trials[p.Block] = p.Value, p.Trial
	}
	for _, p := range base {
		baseline[p.Block] = p.Value
	}
	level, planned := s.level(caseName, row.Platform)
	ratios, interval, v, err := compare(value, baseline, level, s.plan.Margin)
	for _, r := range ratios {
		e.Ratios = append(e.Ratios, result.Point{Block: r.Block, Trial: trials[r.Block], Value: r.Value})
	}
	e.N = len(ratios)
	x := numbers(ratios)
	switch {
	case !compared:
		e.Why = fmt.Sprintf("the baseline, %s, has no part in this case", s.plan.Baseline)
	case errors.Is(err, stats.ErrFew):
		e.Why = fmt.Sprintf("%s in which both finished; an interval needs at least %d", blocks(e.N), stats.MinPairs)
		// Below the fewest for an interval the estimate is shown without one.
		if mid, err := stats.GeoMean(x); err == nil {
			estimate(e, mid, row.Metric.Better)
		}
	case err != nil:
		e.Why = err.Error()
	default:
		estimate(e, interval.Mid, row.Metric.Better)
		e.Low, e.High, e.Confidence = interval.Low, interval.High, level
		e.Verdict = v
		e.Why = doubt(e, planned)
		test(e, x, s.plan.Margin)
	}
	judge(e, fair, s.options.AllowUnfair)
	e.Words = e.Say(row.Metric, s.plan.Margin)
	return e
}

func blocks(n int) string {
	if n == 0 {
		return "no block"
	}
	return "only " + figure.Count(n, "block")
}

// estimate fills the estimate. Overhead is equation 1 of tesfatsion2018 signed.
func estimate(e *result.Effect, ratio float64, better bench.Direction) {
	e.Ratio = ratio
	e.Overhead = ratio - 1
	e.Cost = e.Overhead
	if better == bench.HigherIsBetter {
		e.Cost = 1 - ratio
	}
}

// verdict: equivalent if the whole interval lies within [1-margin, 1+margin],
// bounds included, also where it does not hold 1: such a difference may be
// sure, but it is too small to matter. Otherwise it differs if the interval
// does not hold 1, and else the data do not decide.
func verdict(i stats.Interval, margin float64) result.Verdict {
	switch {
	case i.Low >= 1-margin && i.High <= 1+margin:
		return result.Equivalent
	case i.Low > 1 || i.High < 1:
		return result.Differs
	}
	return result.Inconclusive
}

// doubt is what weakens a verdict that was given.
func doubt(e *result.Effect, planned int) string {
	var out []string
	if e.Low == e.High {
		out = append(out, "every block gave the same ratio, so the interval has no width: the program may report too few digits")
	}
	if e.N < planned {
		out = append(out, fmt.Sprintf("%d of %d blocks have both", e.N, planned))
	}
	if e.Verdict == result.Inconclusive {
		out = append(out, "more blocks or a quieter host may decide")
	}
	return strings.Join(out, "; ")
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

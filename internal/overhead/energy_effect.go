package overhead

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/stats"
)

// powerEffect is equation 2 with an interval that holds what the meter cannot
// tell: its steps do not average out over launches, so each side may be off by
// its bound in all of them alike.
func (s *study) powerEffect(e, native *result.Energy, src bench.PowerSource, caseName string, fair *audit.Audit) *result.Effect {
	x := &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}, Caution: s.caution(e.Platform)}
	finish := func() *result.Effect {
		judge(x, fair, s.options.AllowUnfair)
		x.Words = x.Say(result.PowerMetric, s.plan.Margin)
		return x
	}
	if src.Modelled {
		x.Why = "modelled from CPU time, not measured"
		x.Words = x.Say(result.PowerMetric, s.plan.Margin)
		return x
	}
	if native == nil {
		x.Why = fmt.Sprintf("the baseline, %s, has no part in this case", s.plan.Baseline)
		return finish()
	}
	trials := map[int]string{}
	value, base := map[int]float64{}, map[int]float64{}
	for _, p := range e.Points {
		value[p.Block], trials[p.Block] = p.Value, p.Trial
	}
	for _, p := range native.Points {
		base[p.Block] = p.Value
	}
	level, planned := s.level(caseName, e.Platform)
	ratios, interval, _, err := compare(value, base, level, s.plan.Margin)
	for _, r := range ratios {
		x.Ratios = append(x.Ratios, result.Point{Block: r.Block, Trial: trials[r.Block], Value: r.Value})
	}
	x.N = len(ratios)
	difference, tells := math.Abs(e.Watts-native.Watts), e.Bound+native.Bound
	below := fmt.Sprintf("the difference of %.3g W is below what the meter tells apart, %.3g W", difference, tells)
	switch {
	case errors.Is(err, stats.ErrFew):
		x.Why = fmt.Sprintf("%s in which the power of both is known; an interval needs at least %d", blocks(x.N), stats.MinPairs)
		if mid, err := stats.GeoMean(numbers(ratios)); err == nil {
			estimate(x, mid, result.PowerMetric.Better)
			if difference < tells {
				x.Why += "; " + below
			}
		}
	case err != nil:
		x.Why = err.Error()
	case e.Bound >= e.Watts || native.Bound >= native.Watts:
		x.Why = fmt.Sprintf("the meter may be off by all it shows: by %.3g of %.3g W", max(e.Bound, native.Bound), min(e.Watts, native.Watts))
	default:
		estimate(x, interval.Mid, result.PowerMetric.Better)
		interval.Low *= (1 - e.Bound/e.Watts) / (1 + native.Bound/native.Watts)
		interval.High *= (1 + e.Bound/e.Watts) / (1 - native.Bound/native.Watts)
		x.Low, x.High, x.Confidence = interval.Low, interval.High, level
		x.Verdict = verdict(interval, s.plan.Margin)
		x.Why = doubt(x, planned)
		if difference < tells {
			if x.Verdict == result.Differs {
				x.Verdict = result.Inconclusive
			}
			x.Why = strings.TrimPrefix(x.Why+"; "+below, "; ")
		}
	}
	return finish()
}

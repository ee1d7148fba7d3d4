package analysis

import (
	"fmt"
	"math"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// powerEffect is equation 2 with an interval that holds what the meter cannot
// tell: its steps do not average out over launches, so each side may be off by
// its bound in all of them alike.
func powerEffect(j *judge, e, native *result.Energy, src bench.PowerSource, caseName string, fair *audit.Audit) *result.Effect {
	var x *result.Effect
	switch {
	case src.Modelled:
		x, fair = refused("modelled from CPU time, not measured"), nil
	case native == nil:
		x = refused(j.noPart())
	default:
		x = drawnAgainst(j, e, native, caseName)
	}
	x.Caution = j.caution(e.Platform)
	effect.Judge(x, fair, j.allowUnfair)
	x.Exploratory = true
	effect.Undecided(x, j.margin)
	x.Words = x.Say(bench.PowerMetric, j.margin)
	return x
}

// drawnAgainst compares the launches' power, with the bounds of the meter in the interval.
func drawnAgainst(j *judge, e, native *result.Energy, caseName string) *result.Effect {
	level, planned := j.level(caseName, e.Platform)
	x := effect.Of(e.Points, native.Points, effect.Terms{Better: bench.PowerMetric.Better, Level: level, Margin: j.margin, Rare: j.rare, Pair: "pair of launches of known power"})
	if x.HasRatio() {
		if e.Bound >= e.Watts || native.Bound >= native.Watts {
			effect.Refuse(x, fmt.Sprintf("the meter may be off by all it shows: by %s of %s W", figure.Digits(max(e.Bound, native.Bound), 3), figure.Digits(min(e.Watts, native.Watts), 3)))
			return x
		}
		effect.Widen(x, (1-e.Bound/e.Watts)/(1+native.Bound/native.Watts), (1+e.Bound/e.Watts)/(1-native.Bound/native.Watts), j.margin)
		effect.Doubt(x, planned)
	}
	if difference, tells := math.Abs(e.Watts-native.Watts), e.Bound+native.Bound; x.Ratio > 0 && difference < tells {
		if x.Verdict == result.Differs {
			x.Verdict = result.Inconclusive
		}
		x.AddWhy(fmt.Sprintf("the difference of %s W is below what the meter tells apart, %s W", figure.Digits(difference, 3), figure.Digits(tells, 3)))
	}
	return x
}

// Package effect sets the launches of one side against those of another, paired
// by block: their ratio with its interval, what the tests say of it, and the
// verdict. It knows points, not runs.
package effect

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

// Confidence is the level of an interval that is looked at once.
const Confidence = 0.95

// Terms are how two sets of launches are compared.
type Terms struct {
	Better bench.Direction
	Level  float64 // of the interval's confidence
	Margin float64 // within which the two are equivalent
	// Pair is what is so of a block with a ratio, to say that there are few:
	// "in which both finished".
	Pair string
}

// Of compares points with those of a base. Fewer pairs than an interval needs
// leave the ratio without one; a pair whose ratio cannot be made leaves none.
func Of(points, base []result.Point, t Terms) *result.Effect {
	e := &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}}
	value, trials := byBlock(points)
	against, _ := byBlock(base)
	ratios, interval, err := compare(value, against, t.Level)
	for _, r := range ratios {
		e.Ratios = append(e.Ratios, result.Point{Block: r.Block, Trial: trials[r.Block], Value: r.Value})
	}
	e.N = len(ratios)
	switch {
	case errors.Is(err, stats.ErrFew):
		e.Why = TooFew(e.N, t.Pair)
		if mid, err := stats.GeoMean(result.Values(e.Ratios)); err == nil {
			estimate(e, mid, t.Better)
		}
	case err != nil:
		e.Why = err.Error()
	default:
		estimate(e, interval.Mid, t.Better)
		e.Low, e.High, e.Confidence = interval.Low, interval.High, t.Level
		e.Verdict = Verdict(interval, t.Margin)
	}
	return e
}

func byBlock(points []result.Point) (value map[int]float64, trials map[int]string) {
	value, trials = map[int]float64{}, map[int]string{}
	for _, p := range points {
		value[p.Block], trials[p.Block] = p.Value, p.Trial
	}
	return value, trials
}

// Compare gives the interval of value over base, paired by block, at a level of
// confidence, and the verdict at the margin: what [Of] finds, for whoever checks
// that. The verdict is Refused where there is an error.
func Compare(value, base map[int]float64, level, margin float64) (stats.Interval, result.Verdict, error) {
	_, interval, err := compare(value, base, level)
	if err != nil {
		return stats.Interval{}, result.Refused, err
	}
	return interval, Verdict(interval, margin), nil
}

// compare returns the ratios also where they are too few for an interval.
func compare(value, base map[int]float64, level float64) ([]stats.Ratio, stats.Interval, error) {
	ratios, err := stats.PairedRatios(value, base)
	if err != nil {
		return nil, stats.Interval{}, err
	}
	x := make([]float64, len(ratios))
	for i, r := range ratios {
		x[i] = r.Value
	}
	interval, err := stats.RatioInterval(x, level)
	return ratios, interval, err
}

// TooFew says that so many blocks are too few for an interval.
func TooFew(blocks int, pair string) string {
	text := "no block"
	if blocks > 0 {
		text = "only " + figure.Count(blocks, "block")
	}
	if pair != "" {
		text += " " + pair
	}
	return fmt.Sprintf("%s; an interval needs at least %d", text, stats.MinPairs)
}

// estimate fills the estimate. Overhead is equation 1 of tesfatsion2018 signed.
func estimate(e *result.Effect, ratio float64, better bench.Direction) {
	e.Ratio = ratio
	e.Overhead = ratio - 1
	e.Cost = Cost(ratio, better)
}

// Cost turns a ratio so that positive is worse.
func Cost(ratio float64, better bench.Direction) float64 {
	if better == bench.HigherIsBetter {
		return 1 - ratio
	}
	return ratio - 1
}

// Verdict is Equivalent if the whole interval lies within [1-margin, 1+margin],
// bounds included, also where it does not hold 1: such a difference may be
// sure, but it is too small to matter. Otherwise it is Differs if the interval
// does not hold 1, and else Inconclusive.
func Verdict(i stats.Interval, margin float64) result.Verdict {
	switch {
	case i.Low >= 1-margin && i.High <= 1+margin:
		return result.Equivalent
	case i.Low > 1 || i.High < 1:
		return result.Differs
	}
	return result.Inconclusive
}

// Widen moves the bounds of an interval by these factors, for what its ratios
// do not show, and gives the verdict anew.
func Widen(e *result.Effect, low, high, margin float64) {
	e.Low *= low
	e.High *= high
	e.Verdict = Verdict(stats.Interval{Low: e.Low, High: e.High}, margin)
}

// Refuse takes back what was said of the ratio, and says why. The pairs stay.
func Refuse(e *result.Effect, why string) {
	*e = result.Effect{Verdict: result.Refused, N: e.N, Ratios: e.Ratios, Why: why}
}

// Doubt adds what weakens a verdict that was given. Planned is the number of
// blocks of a complete run. It adds nothing to an effect without an interval.
func Doubt(e *result.Effect, planned int) {
	if !e.HasRatio() {
		return
	}
	if e.Low == e.High {
		e.AddWhy("every block gave the same ratio, so the interval has no width: the program may report too few digits")
	}
	if e.N < planned {
		e.AddWhy(fmt.Sprintf("%d of %d blocks have both", e.N, planned))
	}
	if e.Verdict == result.Inconclusive {
		e.AddWhy("more blocks or a quieter host may decide")
	}
}

// Judge attaches an audit and, if it found the sides not comparable, takes
// back what was said of their ratio, unless that is allowed.
func Judge(e *result.Effect, a *audit.Audit, allow bool) {
	e.Audit = a
	if a == nil || len(a.Invalid()) == 0 {
		return
	}
	var reasons []string
	for _, c := range a.Invalid() {
		reasons = append(reasons, c.Name+" ("+c.Subject+" against "+c.Baseline+"): "+c.Why)
	}
	e.Unfair = strings.Join(reasons, "; ")
	if allow {
		return
	}
	*e = result.Effect{Verdict: result.Unfair, Ratios: []result.Point{}, N: e.N, Audit: e.Audit, Unfair: e.Unfair, Caution: e.Caution}
}

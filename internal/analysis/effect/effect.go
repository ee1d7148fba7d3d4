// Package effect sets the launches of one side against those of another, paired
// by block: their ratio with its interval, what the tests say of it, and the
// verdict. It knows points, not runs.
package effect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// Confidence is the level of an interval that is looked at once.
const Confidence = 0.95

// DefaultRare is the share of launches beyond which launches that behave otherwise must
// be ruled out before two sides count as equivalent without reserve.
const DefaultRare = 0.1

// Terms are how two sets of launches are compared.
type Terms struct {
	Better bench.Direction
	Level  float64 // of the interval's confidence
	Margin float64 // within which the two are equivalent
	// Rare is the share of launches that may behave otherwise unseen where "equivalent"
	// is said without reserve; 0 is [DefaultRare].
	Rare float64
	// Adds: what the side adds to the base is estimated, too.
	Adds bool
	// Pair is what a ratio is of, to say that there are few:
	// "pair of finished launches".
	Pair string
}

// Of compares points with those of a base, of which a block may have several: they count
// [stats.Together]. Fewer pairs than an interval needs leave the ratio without one; a pair
// whose ratio cannot be made leaves none.
func Of(points, base []result.Point, t Terms) *result.Effect {
	e := &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}}
	value, trials := byBlock(points)
	against := map[int][]float64{}
	for _, b := range base {
		against[b.Block] = append(against[b.Block], b.Value)
	}
	ratios, found, err := compare(value, stats.Together(against))
	for _, r := range ratios {
		e.Ratios = append(e.Ratios, result.Point{Block: r.Block, Trial: trials[r.Block], Value: r.Value})
	}
	e.N = len(ratios)
	switch {
	case errors.Is(err, stats.ErrFew):
		e.Why = TooFew(e.N, t.Pair)
		if mid, err := stats.GeoMean(result.Values(e.Ratios)); err == nil {
			estimate(e, mid, t.Better)
			e.OfTotals = ofTotals(e.Ratios, value, against)
		}
	case err != nil:
		if e.N, e.Why = withoutRatio(points, base); e.Why == "" {
			e.Why = err.Error()
		}
	default:
		if err := state(e, found, t); err != nil {
			e.Why = err.Error()
		}
		e.OfTotals = ofTotals(e.Ratios, value, against)
		if t.Adds {
			e.Added = added(e, value, against, t.Level)
		}
	}
	return e
}

// added is the mean difference of the values to the mean of the base's in the block. Few values leave
// a sum less certain than a ratio: where only the ratio differs, or has an interval, what is added is by
// the ratio, of the base's mean.
func added(e *result.Effect, value map[int]float64, base map[int][]float64, level float64) *result.Added {
	var differences, bases []float64
	for _, r := range e.Ratios {
		differences = append(differences, value[r.Block]-stats.Mean(base[r.Block]))
		bases = append(bases, stats.Mean(base[r.Block]))
	}
	i, err := stats.MeanInterval(differences, level)
	if err != nil || e.Verdict == result.Differs && i.Low <= 0 && 0 <= i.High {
		of := stats.Mean(bases)
		return &result.Added{Mean: of * (e.Ratio - 1), Low: of * (e.Low - 1), High: of * (e.High - 1)}
	}
	return &result.Added{Mean: i.Mid, Low: i.Low, High: i.High}
}

// state fills in what the ratios show.
func state(e *result.Effect, found *stats.Ratios, t Terms) error {
	interval, err := found.Interval(t.Level)
	if err != nil {
		return err
	}
	estimate(e, interval.Mid, t.Better)
	e.Low, e.High, e.Confidence = interval.Low, interval.High, t.Level
	e.Verdict = Verdict(interval, t.Margin)
	p := found.P()
	e.PInterval = &p
	if least, err := stats.Detectable(interval, result.Values(e.Ratios), stats.Power); err == nil {
		e.Finds = least
	}
	e.Unseen = stats.UnseenShare(e.N)
	e.Typical = e.Verdict == result.Equivalent && e.Unseen > cmp.Or(t.Rare, DefaultRare)
	e.Supposes = suppositions(e.N, e.Unseen)
	return nil
}

// evenly is the fewest blocks whose interval holds the truth in 93 % also where
// launches scatter to one side (TestShapes of package stats).
const evenly = 10

// suppositions say what an interval of so many blocks stands on.
func suppositions(n int, unseen float64) []string {
	all := []string{
		fmt.Sprintf("at most %.0f %% of launches behave otherwise than those measured", 100*unseen),
		"what changes the ratio in one block does not last into the next",
	}
	if n < evenly {
		all = append(all, "launches scatter about evenly to both sides")
	}
	return all
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
	_, found, err := compare(value, base)
	if err != nil {
		return stats.Interval{}, result.Refused, err
	}
	interval, err := found.Interval(level)
	if err != nil {
		return stats.Interval{}, result.Refused, err
	}
	return interval, Verdict(interval, margin), nil
}

// compare returns the ratios also where they are too few for an interval.
func compare(value, base map[int]float64) ([]stats.Ratio, *stats.Ratios, error) {
	ratios, err := stats.PairedRatios(value, base)
	if err != nil {
		return nil, nil, err
	}
	x := make([]float64, len(ratios))
	for i, r := range ratios {
		x[i] = r.Value
	}
	found, err := stats.NewRatios(x)
	return ratios, found, err
}

// withoutRatio counts the blocks that both sides have, and says which value of them
// has no ratio, such as a zero, and of which launch; "" if each has one.
func withoutRatio(points, base []result.Point) (blocks int, why string) {
	against := map[int][]result.Point{}
	for _, b := range base {
		against[b.Block] = append(against[b.Block], b)
	}
	var first *result.Point
	without := 0
	for _, p := range points {
		of := against[p.Block]
		if len(of) == 0 {
			continue
		}
		blocks++
		for _, x := range append([]result.Point{p}, of...) {
			if x.Value > 0 && !math.IsInf(x.Value, 1) {
				continue
			}
			without++
			if first == nil {
				first = &x
			}
			break
		}
	}
	if first == nil {
		return blocks, ""
	}
	launch := "launch " + first.Trial
	if first.Trial == "" {
		launch = fmt.Sprintf("block %d", first.Block)
	}
	return blocks, fmt.Sprintf("%s gave %g, which has no ratio (so in %d of %s)", launch, first.Value, without, figure.Count(blocks, "block"))
}

// TooFew says that so many of something, such as a "pair of launches", are too few for an interval.
func TooFew(n int, what string) string {
	text := "no " + what
	if n > 0 {
		noun, rest, _ := strings.Cut(what, " ")
		text = strings.TrimSpace("only " + figure.Count(n, noun) + " " + rest)
	}
	return fmt.Sprintf("%s; an interval needs at least %d", text, stats.MinPairs)
}

// estimate fills the estimate. Overhead is equation 1 of tesfatsion2018 signed.
func estimate(e *result.Effect, ratio float64, better bench.Direction) {
	e.Ratio = ratio
	e.Overhead = ratio - 1
	e.Cost = Cost(ratio, better)
}

// ofTotals is the sum of the values over that of the base's, in the blocks with a ratio.
// Of several launches of the base in a block it takes the arithmetic mean.
func ofTotals(ratios []result.Point, value map[int]float64, base map[int][]float64) float64 {
	var own, all float64
	for _, r := range ratios {
		own += value[r.Block]
		all += stats.Mean(base[r.Block])
	}
	return own / all
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
	e.Typical = e.Typical && e.Verdict == result.Equivalent
	e.PInterval = nil // it is of the narrower interval
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
}

// Undecided says of an inconclusive effect how many blocks would decide it at the
// margin, if ratio and scatter stay as they are.
func Undecided(e *result.Effect, margin float64) {
	if e.Verdict != result.Inconclusive {
		return
	}
	if e.Waiting > 0 {
		e.Needed = stats.MostNeeded + 1
		return
	}
	s, err := stats.ScatterOf(result.Values(e.Ratios))
	if err != nil || s.SD == 0 {
		e.AddWhy("more blocks or a quieter host may decide")
		return
	}
	need := s.ToDiffer(e.Confidence)
	if within := s.ToLieWithin(margin, e.Confidence); need.N == 0 || within.N > 0 && within.N < need.N {
		need = within
	}
	need = need.AtLeast(e.N + 1)
	if e.Needed = need.N; need.N == 0 {
		e.Needed = stats.MostNeeded + 1
	}
	e.AddWhy(fmt.Sprintf("%s would decide in %.0f %% of runs", result.Needed(need, "block"), 100*stats.Power))
}

// Judge attaches an audit and, if it found the sides not comparable, takes
// back what was said of their ratio, unless that is allowed.
func Judge(e *result.Effect, a *audit.Audit, allow bool) {
	e.Audit = a
	if e.Unfair = a.Unfair(audit.Platforms); e.Unfair == "" || allow {
		return
	}
	*e = result.Effect{Verdict: result.Unfair, Ratios: []result.Point{}, N: e.N, Audit: e.Audit, Unfair: e.Unfair, Caution: e.Caution, Loaded: e.Loaded}
}

package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/result"
)

// change works out a row's ratio with an interval at a level of confidence.
// Without leave, a comparison that is unfair, for the reason why, has none.
func (c *Comparison) change(r *Row, level float64, why string, o Options) Change {
	if why != "" && !o.AllowUnfair {
		return c.unfair(r, why)
	}
	ch := Change{Verdict: result.Refused, Unfair: why}
	two, basis, err := twoSides(r)
	switch {
	case errors.Is(err, stats.ErrFew):
		ch.Why = few(r)
	case err != nil:
		ch.Why = err.Error()
	default:
		interval := two.Interval(level)
		ch.bounds, ch.Basis, ch.DF, ch.Confidence, ch.SpeaksFor = unpaired{two}, basis, two.DF, level, basis.Reach()
		ch.Ratio, ch.Low, ch.High = interval.Mid, interval.Low, interval.High
		ch.Cost = effect.Cost(ch.Ratio, r.Metric.Better)
		ch.Verdict = effect.Verdict(interval, c.Margin)
		if two.SE == 0 {
			ch.Why = "no launch differs from another in its run, so the interval has no width: the program may report too few digits"
		}
		p := min(1, 2*min(two.Above(1), two.Below(1)))
		if basis == OfLaunches {
			p, err = stats.SplitTest(r.A.Values[0], r.B.Values[0])
		}
		if err == nil {
			ch.P = &p
		}
	}
	ch.Words = c.words(r, &ch)
	return ch
}

// unpaired are the bounds of two samples, whose p is that of their bounds at any tail.
type unpaired struct{ stats.Two }

func (u unpaired) Above(limit, _ float64) float64 { return u.Two.Above(limit) }
func (u unpaired) Below(limit, _ float64) float64 { return u.Two.Below(limit) }

// twoSides compares the means of several runs a side. One run on a side needs
// others that tell how much runs differ; without them its launches are compared.
func twoSides(r *Row) (stats.Two, Basis, error) {
	a, b := r.A.Values, r.B.Values
	switch {
	case len(a) >= stats.MinRuns && len(b) >= stats.MinRuns:
		two, err := stats.RunMeans(a, b)
		return two, OfRuns, err
	case max(len(a), len(b), len(r.archive)) >= stats.MinRuns:
		two, err := stats.ArchivedRuns(a, b, r.archive)
		return two, OfArchive, err
	}
	two, err := stats.TwoSample(a[0], b[0])
	return two, OfLaunches, err
}

// few says that there are too few launches.
func few(r *Row) string {
	least := func(v Values) int {
		n := len(v.Values[0])
		for _, run := range v.Values {
			n = min(n, len(run))
		}
		return n
	}
	if len(r.A.Values) == 1 && len(r.B.Values) == 1 {
		return fmt.Sprintf("%d launches finished in A and %d in B; an interval needs at least %d in each", r.A.N(), r.B.N(), stats.MinTested)
	}
	return fmt.Sprintf("%d launches finished in a run of A and %d in one of B; an interval needs at least %d in each run",
		least(r.A), least(r.B), stats.MinTested)
}

func (c *Comparison) unfair(r *Row, why string) Change {
	ch := Change{Verdict: result.Unfair, Unfair: why}
	ch.Words = c.words(r, &ch)
	return ch
}

// words are the report's own, wearing what must be known of the change.
func (c *Comparison) words(r *Row, ch *Change) string {
	if ch.Verdict == result.Unfair {
		return "no statement: the runs must not be compared: " + ch.Unfair
	}
	e := &result.Effect{Ratio: ch.Ratio, Low: ch.Low, High: ch.High, Verdict: ch.Verdict, Why: ch.Why}
	text := e.Say(r.Metric, c.Margin)
	if r.Label != "" {
		text += " [" + r.Label + "]"
	}
	if ch.Unfair != "" {
		text += " [unfair: " + ch.Unfair + "]"
	}
	return text
}

// fair keeps of the checks of a row what is not the same, and says why its two
// sides must not be compared, "" if they may. Unlike is why the runs of a side are not of one
// thing, "" if they are. Effects are those within the runs that the row's values come from.
func (c *Comparison) fair(row *Row, found []audit.Check, unlike string, effects ...*result.Effect) string {
	for _, check := range found {
		if check.Name == audit.PlatformVersion {
			row.A.Version, row.B.Version = check.Baseline, check.Subject
		}
		if check.State != audit.Same {
			row.Checks = append(row.Checks, check)
		}
	}
	all := audit.Audit{Checks: slices.Concat(c.Checks, found)}
	why := cmp.Or(all.Unfair(audit.Runs), c.unlike, unlike)
	for _, e := range effects {
		if why == "" && e != nil && e.Verdict == result.Unfair && e.Unfair == "" {
			why = "within a run: " + e.Words
		} else if why == "" && e != nil && e.Unfair != "" {
			why = "within a run: " + e.Unfair
		}
	}
	return why
}

// holm corrects the p of the headline rows for their number.
func (c *Comparison) holm() {
	var rows []*Change
	var p []float64
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Metric.Headline && r.Change.P != nil {
			rows = append(rows, &r.Change)
			p = append(p, *r.Change.P)
		}
	}
	for i, corrected := range stats.Holm(p) {
		rows[i].Holm = &corrected
	}
}

package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/audit"
	"tare/internal/effect"
	"tare/internal/result"
	"tare/internal/stats"
)

// change works out a row's ratio. Without leave, a comparison that is unfair, for the reason why, has none.
func (c *Comparison) change(r *Row, why string, o Options) Change {
	if why != "" && !o.AllowUnfair {
		return c.unfair(r, why)
	}
	ch := Change{Verdict: result.Refused, Unfair: why}
	two, err := stats.TwoSample(r.A.Values, r.B.Values)
	switch {
	case errors.Is(err, stats.ErrFew):
		ch.Why = fmt.Sprintf("%d launches finished in A and %d in B; an interval needs at least %d in each",
			len(r.A.Values), len(r.B.Values), stats.MinPairs)
	case err != nil:
		ch.Why = err.Error()
	default:
		interval := two.Interval(effect.Confidence)
		ch.two, ch.ok = two, true
		ch.Ratio, ch.Low, ch.High = interval.Mid, interval.Low, interval.High
		ch.Cost = effect.Cost(ch.Ratio, r.Metric.Better)
		ch.Verdict = effect.Verdict(interval, c.Margin)
		if two.SE == 0 {
			ch.Why = "no launch differs from another in its run, so the interval has no width: the program may report too few digits"
		}
		if p, err := stats.SplitTest(r.A.Values, r.B.Values); err == nil {
			ch.P = &p
		}
	}
	ch.Words = c.words(r, &ch)
	return ch
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

// reasons says what makes a comparison invalid, each once.
func reasons(invalid []audit.Check) string {
	var out []string
	for _, c := range invalid {
		if text := fmt.Sprintf("%s: %s in A, %s in B", c.Name, c.Baseline, c.Subject); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
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

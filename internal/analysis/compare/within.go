package compare

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// Within sets the platforms of one run against its baseline, which is the same
// platform with another program or other options: A is the baseline and B each of
// the others, block by block. It is an error that wraps bench.ErrInvalid if the
// platforms are not variants of one.
func Within(r Run) (*Comparison, error) {
	others, err := variants(r)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Format: Format, Baseline: r.Result.Baseline, Margin: r.Result.Margin, SpeaksFor: ThePlatform}
	a, b := r.side(), r.side()
	a.Platform, b.Platform = r.Result.Baseline, strings.Join(others, ", ")
	c.A, c.B = []Side{a}, []Side{b}
	c.Method = "B over A within each block of one run, which are the same platform with another program or other options: " + r.Result.Method
	for i := range r.Result.Cases {
		k := &r.Result.Cases[i]
		for j := range k.Rows {
			if row := &k.Rows[j]; !row.Baseline && row.Effect != nil {
				c.Rows = append(c.Rows, pairedRow(k, row))
			}
		}
	}
	for _, x := range cells(r.Result) {
		if x.row.Baseline || x.Against == nil {
			continue
		}
		row := Row{Case: x.Case, Title: fmt.Sprintf("%s, %s, by %s", x.row.Row, x.column, x.row.Case), Platform: x.row.Platform, Label: x.row.Label,
			Metric: relativeMetric(x.row.Metric), Relative: &Relative{To: x.row.Case, Row: x.row.Row, Column: x.column, Of: x.row.Metric.Name},
			B: relativeValues([]cell{x}, false)}
		row.Change = paired(x.Against, row.Metric, c.Margin)
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("gate %s: no metric of a platform is set against %s: %w%w", r.name(), r.Result.Baseline, bench.ErrInvalid,
			bench.Hint("measure two variants of one platform: tare ab"))
	}
	for _, n := range []struct {
		count int
		what  string
	}{{r.Result.Trials.Missing, "have no outcome"}, {r.Result.Trials.Failed, "failed"}} {
		if n.count > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d trials %s", n.count, r.Result.Trials.Asked, n.what))
		}
	}
	return c, nil
}

// variants are the platforms of a run but for its baseline, of which they are variants.
func variants(r Run) ([]string, error) {
	var driver string
	var others []bench.PlatformRef
	for _, s := range r.Store.Plan().Scenes {
		switch {
		case s.Platform.String() == r.Result.Baseline:
			driver = s.Platform.Driver()
		case !slices.ContainsFunc(others, func(o bench.PlatformRef) bool { return o.String() == s.Platform.String() }):
			others = append(others, s.Platform)
		}
	}
	var names []string
	for _, o := range others {
		if o.Driver() != driver {
			return nil, fmt.Errorf("gate %s: %s is not a variant of its baseline %s: %w%w", r.name(), o, r.Result.Baseline, bench.ErrInvalid,
				bench.Hint("give two sides: tare gate A B; or measure two variants of one platform in one run: tare ab"))
		}
		names = append(names, o.String())
	}
	return names, nil
}

// pairedRow is a row of a run with its baseline's.
func pairedRow(k *result.Case, row *result.Row) Row {
	out := Row{Case: k.Name, Title: k.Title, Platform: row.Platform, Label: row.Label, Metric: row.Metric,
		B: valuesOf([]placed{{k, row}}, false), Change: paired(row.Effect, row.Metric, 0)}
	for i := range k.Rows {
		if base := &k.Rows[i]; base.Baseline && base.Metric.Name == row.Metric.Name {
			out.A = valuesOf([]placed{{k, base}}, false)
		}
	}
	return out
}

// paired is what an effect within a run says, with its bounds. An effect that says
// nothing yet of itself is put into words with the margin.
func paired(e *result.Effect, m bench.Metric, margin float64) Change {
	ch := Change{Ratio: e.Ratio, Low: e.Low, High: e.High, Confidence: e.Confidence, Cost: effect.Cost(e.Ratio, m.Better), P: e.P, Holm: e.Holm,
		Verdict: e.Verdict, Why: e.Why, Words: e.Words, Unfair: e.Unfair}
	if ch.Words == "" {
		ch.Words = e.Say(m, margin)
	}
	if ch.Verdict == result.Unfair {
		ch.Ratio, ch.Low, ch.High, ch.Confidence, ch.Cost = 0, 0, 0, 0, 0
	}
	if !e.HasRatio() {
		return ch
	}
	ratios := make([]float64, 0, len(e.Ratios))
	for _, p := range e.Ratios {
		ratios = append(ratios, p.Value)
	}
	bounds, err := stats.PairedOf(ratios)
	if err != nil {
		ch.Why = err.Error()
		return ch
	}
	at := ch.tail()
	bounds.Low, bounds.High = e.Low/bounds.Lower(at), e.High/bounds.Upper(at)
	ch.bounds, ch.Basis, ch.SpeaksFor, ch.DF = bounds, OfBlocks, ThePlatform, float64(len(ratios)-1)
	return ch
}

package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Say says the effect of the metric with its direction, as a report does:
// "7.1 % slower (5.0 to 9.3)". It reads the verdict, the ratio with its
// bounds, Why and Caution.
func (e *Effect) Say(m bench.Metric, margin float64) string {
	var text string
	switch e.Verdict {
	case Refused:
		text = "not compared: " + e.Why
	case Unfair:
		text = "no comparison: " + e.Unfair
	case Equivalent:
		text = fmt.Sprintf("no difference within %s %%", trim(100*margin))
		if e.Typical {
			text += " for typical launches"
		}
	case Inconclusive:
		text = "undecided: " + e.open(m, margin)
	default:
		text = e.size(m)
	}
	if e.Unfair != "" && e.Verdict != Unfair {
		text += " [unfair: " + e.Audit.Mark() + "]"
	}
	return text + e.Worn()
}

// Worn are the cautions that must be shown with the effect, in brackets.
func (e *Effect) Worn() (text string) {
	for _, c := range []string{e.Caution, e.Loaded} {
		if c != "" {
			text += " [" + c + "]"
		}
	}
	return text
}

// open says why an effect is not decided that waits, and of any other within what it lies.
func (e *Effect) open(m bench.Metric, margin float64) string {
	if e.Waiting > 0 {
		return fmt.Sprintf("%.0f %% idle, so this measures waiting", 100*e.Waiting)
	}
	return e.bound(m, margin)
}

// size says what differs, with its interval: "7.1 % slower (5.0 to 9.3)", "+14.2 ms (12.1 to 16.4)".
func (e *Effect) size(m bench.Metric) string {
	if a := e.Added; a != nil {
		return fmt.Sprintf("%s (%s to %s)", signed(a.Mean, m.Unit), amount(a.Low), amount(a.High))
	}
	return fmt.Sprintf("%s (%s)", Change(e.Ratio, m), bounds(e, m))
}

// bound says within what a change that is not decided lies: "at most 3.4 % slower" where a gain
// beyond the margin is ruled out, and so the other way round; otherwise both ends, the gain first.
func (e *Effect) bound(m bench.Metric, margin float64) string {
	if a := e.Added; a != nil {
		return fmt.Sprintf("between %s and %s", signed(a.Low, m.Unit), signed(a.High, m.Unit))
	}
	if e.boundless() {
		return scattered
	}
	name := named(m)
	low, high := strings.TrimPrefix(Change(e.Low, m), name), strings.TrimPrefix(Change(e.High, m), name)
	switch {
	case e.Low >= 1-margin && e.High > 1+margin:
		return name + "at most " + high
	case e.High <= 1+margin && e.Low < 1-margin:
		return name + "at most " + low
	case m.Better == bench.HigherIsBetter:
		return name + "between " + high + " and " + low
	}
	return name + "between " + low + " and " + high
}

// widest is the factor between the bounds of an interval beyond which they say nothing: two pairs of
// launches that differ in sign reach from a millionth to a million.
const widest = 100

const scattered = "launches scatter too much for a bound"

func (e *Effect) boundless() bool { return e.Added == nil && e.High > widest*e.Low }

// signed writes an amount that is added, with its sign and unit: "+14.2 ms".
func signed(v float64, unit string) string {
	sign := "+"
	if v < 0 {
		sign = "-"
	}
	return sign + strings.TrimPrefix(amount(v), "-") + " " + figure.Unit(unit)
}

// amount writes an amount to three digits, or all of those before the point.
func amount(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case a < 0.9995:
		digits = 3
	case a < 9.995:
		digits = 2
	case a < 99.95:
		digits = 1
	}
	if math.Abs(v) >= 1000 {
		return figure.Number(v)
	}
	return figure.Fixed(v, digits)
}

// isRate says whether "slower" and "faster" are the words for a metric.
func isRate(m bench.Metric) bool {
	return m.Better == bench.HigherIsBetter && (strings.HasSuffix(m.Unit, "/s") || m.Unit == "IOPS" || m.Name == bench.TurnMetrics[0].Name)
}

// isDuration says whether "longer" and "shorter" are. A latency is high or low.
func isDuration(m bench.Metric) bool {
	switch m.Unit {
	case "s", "ms", "us", "µs", "ns":
		return !strings.Contains(m.Name, "latency")
	}
	return false
}

// factor is the ratio from which on a change is said as "times", not in percent.
const factor = 2

// many is the ratio below which a change is said as "times" too: "99.5 % slower" and "98 % slower"
// read alike, and are 200 and 50 times slower.
const many = 1.0 / 20

// named is the metric's name with a blank, or nothing where "slower" says enough.
func named(m bench.Metric) string {
	if isRate(m) {
		return ""
	}
	return strings.ReplaceAll(m.Name, "_", " ") + " "
}

// Change says a ratio of the metric: "7.1 % slower", "latency p95 12.0 % higher", "4.8 times as fast".
func Change(ratio float64, m bench.Metric) string {
	name := named(m)
	up, down, as := "higher", "lower", "high"
	switch {
	case isRate(m):
		up, down, as = "faster", "slower", "fast"
	case isDuration(m):
		up, down, as = "longer", "shorter", "long"
	}
	switch {
	case ratio >= factor:
		return fmt.Sprintf("%s%s times as %s", name, digits(ratio), as)
	case ratio >= 1:
		return fmt.Sprintf("%s%s %% %s", name, digits(100*(ratio-1)), up)
	case ratio > 0 && ratio < many:
		return fmt.Sprintf("%s%s times %s", name, digits(1/ratio), down)
	}
	return fmt.Sprintf("%s%s %% %s", name, digits(100*(1-ratio)), down)
}

// bounds are those of an interval that does not hold 1, in the words of its
// middle, the smaller first.
func bounds(e *Effect, m bench.Metric) string {
	switch {
	case e.Ratio >= factor: // all of it as factors: 1.17 to 28.6 times as long
		return digits(e.Low) + " to " + digits(e.High)
	case e.Ratio < many:
		return digits(1/e.High) + " to " + digits(1/e.Low)
	case e.Ratio < 1:
		return digits(100*(1-e.High)) + " to " + digits(100*(1-e.Low))
	case e.High < factor:
		return digits(100*(e.Low-1)) + " to " + digits(100*(e.High-1))
	}
	return strings.TrimPrefix(Change(e.Low, m), named(m)) + " to " + strings.TrimPrefix(Change(e.High, m), named(m))
}

// digits writes a number with one decimal below 100, none above.
func digits(v float64) string {
	if v < 99.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// trim writes a number with at most one decimal.
func trim(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// Say says the case in one sentence, by its headline metric.
func (c *Case) Say(baseline string) string {
	if len(c.Rows) == 0 && len(c.Energy) > 0 {
		return powerAnswer(c)
	}
	if len(c.Rows) == 0 {
		return "Nothing was planned to be measured."
	}
	metric := c.Rows[0].Metric
	for _, r := range c.Rows {
		if r.Metric.Headline {
			metric = r.Metric
			break
		}
	}
	var base *Row
	var said, medians []string
	reasons := map[string]bool{} // of refusals; "" stands for a statement
	for i := range c.Rows {
		r := &c.Rows[i]
		switch {
		case r.Metric.Name != metric.Name:
		case r.Baseline:
			base = r
		case r.N == 0:
			reasons[""] = true
			said = append(said, fmt.Sprintf("%s: %s", r.Platform, unfinished(r)))
		case r.Effect.Verdict == Refused:
			reasons[r.Effect.Why] = true
			medians = append(medians, fmt.Sprintf("%s %s%s", r.Platform, figure.Quantity(r.Median, metric.Unit), r.Effect.Worn()))
			said = append(said, fmt.Sprintf("%s: %s", r.Platform, r.Effect.Words))
		case !c.Kind.Sampled():
			reasons[""] = true
			said = append(said, fmt.Sprintf("%s: %s, %s", r.Platform, figure.Quantity(r.Median, metric.Unit), r.Effect.Words))
		default:
			reasons[""] = true
			said = append(said, fmt.Sprintf("%s: %s", r.Platform, r.Effect.Words))
		}
	}
	text := strings.Join(said, "; ") + "."
	switch {
	case base == nil:
		return text
	case base.N == 0:
		return fmt.Sprintf("There is nothing to compare with: %s: %s.", baseline, unfinished(base))
	case len(said) == 0:
		return fmt.Sprintf("Only %s was measured: %s.", baseline, figure.Quantity(base.Median, metric.Unit))
	}
	if len(reasons) == 1 && !reasons[""] {
		why := slices.Collect(maps.Keys(reasons))[0]
		return fmt.Sprintf("Not compared, only medians: %s %s, %s. The reason: %s.",
			baseline, figure.Quantity(base.Median, metric.Unit), strings.Join(medians, ", "), why)
	}
	return fmt.Sprintf("Against %s (%s): %s", baseline, figure.Quantity(base.Median, metric.Unit), text)
}

func unfinished(r *Row) string {
	switch {
	case r.Failed > 0:
		return fmt.Sprintf("no launch finished, %d failed", r.Failed)
	case r.DNF > 0:
		return fmt.Sprintf("did not finish in any of %d launches", r.DNF)
	case r.Overdue > 0:
		return fmt.Sprintf("no launch finished, the containment's time limit was reached in %d", r.Overdue)
	case r.Alone > 0:
		return fmt.Sprintf("no neighbour in any of %d launches", r.Alone)
	}
	return "no launch finished"
}

// powerAnswer is a case in which nothing but power was measured in one sentence,
// by the first meter.
func powerAnswer(c *Case) string {
	var said []string
	for _, e := range c.Energy {
		if e.Meter != c.Energy[0].Meter {
			continue
		}
		text := e.Platform + ": power not known"
		if e.N > 0 {
			text = fmt.Sprintf("%s: %s", e.Platform, figure.Quantity(e.Watts, "W"))
		}
		if e.Modelled {
			text += " [modelled]"
		} else if e.Effect != nil {
			text += ", " + e.Effect.Words
		}
		said = append(said, text)
	}
	return "Power: " + strings.Join(said, "; ") + "."
}

// Say says the cell in short, such as "54 %", "DNF 3 of 3" or "54 %, DNF 1 of 3".
func (c *MatrixCell) Say() string {
	var words []string
	if c.Effect.Verdict == Unfair {
		words = append(words, "unfair: "+c.Effect.Audit.Mark())
	}
	if c.Kept > 0 {
		write, unit := inUnitOf(c.Kept)
		kept := write(c.Kept) + " " + unit
		if c.Effect.Unfair != "" {
			kept += " [unfair: " + c.Effect.Audit.Mark() + "]"
		}
		words = append(words, kept)
	}
	for _, x := range []struct {
		n    int
		what string
	}{{c.Alone, "no neighbour"}, {c.DNF, "DNF"}, {c.Overdue, "time limit reached"}, {c.Failed, "failed"}, {c.Missing, "missing"}} {
		switch {
		case x.n == 0:
		case c.Missing == c.Launches && x.what == "missing":
			words = append(words, "not measured yet")
		default:
			words = append(words, fmt.Sprintf("%s %d of %d", x.what, x.n, c.Launches))
		}
	}
	if c.Lost() {
		words = append(words, "no ratio")
	}
	if len(words) == 0 {
		return "no pair of launches"
	}
	return strings.Join(words, ", ")
}

// SayAgainst says how the cell's platform compares with the baseline in what it keeps.
func (c *MatrixCell) SayAgainst(base *MatrixCell, name string) string {
	e, text := c.Against, ""
	switch {
	case c.DNF > base.DNF && c.N == 0 && base.N > 0:
		text = "does not finish where " + name + " does"
	case c.DNF < base.DNF && base.N == 0 && c.N > 0:
		text = "finishes where " + name + " does not"
	case e.Verdict == Differs && e.Ratio > 1:
		text = fmt.Sprintf("keeps %s times what %s keeps (%s to %s)", figure.Fixed(e.Ratio, 2), name, figure.Fixed(e.Low, 2), figure.Fixed(e.High, 2))
	case e.Verdict == Differs:
		text = fmt.Sprintf("keeps %s %% less than %s (%s to %s)", digits(100*(1-e.Ratio)), name, digits(100*(1-e.High)), digits(100*(1-e.Low)))
	case e.Verdict == Equivalent:
		text = "as " + name
	case e.Verdict == Inconclusive:
		text = fmt.Sprintf("undecided: %s to %s times what %s keeps", figure.Fixed(e.Low, 2), figure.Fixed(e.High, 2), name)
	default:
		text = "not compared: " + e.Why
	}
	return text + e.Worn()
}

package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// GateFormat is the version of the JSON of a [Gate].
const GateFormat = "tare-gate/3"

// Decision is what a gate says, of a row and of the whole.
type Decision string

const (
	Pass       Decision = "pass"       // surely not worse by more than the limit
	Regression Decision = "regression" // surely worse by more than the limit
	Undecided  Decision = "inconclusive"
	Failed     Decision = "failed" // every launch of a side failed, and not of B alone
	Unfair     Decision = "unfair" // the sides must not be compared
	// PassOfRuns and RegressionOfRuns are so of two runs, one a side. What differs
	// from one run to the next may have brought them about, and not the platform.
	PassOfRuns       Decision = "pass in these two runs"
	RegressionOfRuns Decision = "regression in these two runs"
)

// tail is the risk taken on each side: 2.5 %, as of a 95 % interval.
const tail = (1 - effect.Confidence) / 2

// tail is the risk taken on each side by its interval, which is less than 2.5 % if
// a stopping rule looked more than once.
func (ch *Change) tail() float64 { return (1 - ch.Confidence) / 2 }

// Gate is the decision whether B got worse than A by more than a limit.
type Gate struct {
	Format   string   `json:"format"` // "tare-gate/3"
	Limit    float64  `json:"max_regression"`
	Decision Decision `json:"decision"`
	// Why says the decision in a sentence.
	Why string `json:"why"`
	// Method says how the bounds were made.
	Method     string      `json:"method"`
	Rows       []GateRow   `json:"rows"`
	Comparison *Comparison `json:"comparison"`
}

// GateRow is the decision on one metric of one platform in one case. Costs
// are fractions in the direction that hurts: 0.05 is 5 % worse.
type GateRow struct {
	Case     string       `json:"case"`
	Title    string       `json:"title"`
	Platform string       `json:"platform"`
	Metric   bench.Metric `json:"metric"`
	Relative *Relative    `json:"relative,omitempty"` // of a row of what is left
	Decision Decision     `json:"decision"`
	Cost     float64      `json:"cost"`
	// Low is the least the worsening may be, by bounds that hold for all rows at
	// once, and High the most, of this row alone. Both are 0 if there is no interval.
	Low  float64 `json:"cost_low"`
	High float64 `json:"cost_high"`
	// P is of a worsening of at most the limit, corrected over the rows.
	P *float64 `json:"p_holm,omitempty"`
	// Words says the change with its direction.
	Words string `json:"words"`
	// SpeaksFor is what the decision is about: "these two runs" or "the platform"; "" without an interval.
	SpeaksFor Reach `json:"speaks_for,omitempty"`
	// Why explains the decision, and Decide what would bring one about.
	Why    string `json:"why,omitempty"`
	Decide string `json:"decide,omitempty"`
}

// Asked is what a gate decides on. Without metrics these are the headline ones. Without platforms they
// are all but the baseline, whose change is the host's; that too where there is no other.
type Asked struct{ Metrics, Platforms []string }

// Judge decides on what is asked of a comparison. The limit is the worsening allowed, such as 0.05. It is
// an error that wraps bench.ErrInvalid if a named metric or platform is not in the comparison, or
// the limit is not at least 0 and below 1.
func Judge(c *Comparison, limit float64, asked Asked) (*Gate, error) {
	if !(limit >= 0 && limit < 1) {
		return nil, fmt.Errorf("gate: a limit of %g: %w%w", limit, bench.ErrInvalid, bench.Hint("give a share from 0 to below 1, such as 5%"))
	}
	g := &Gate{Format: GateFormat, Limit: limit, Comparison: c, Rows: []GateRow{}}
	g.Method = fmt.Sprintf("a row passes if the most it may be worse, one-sided at 97.5 %% (higher where a stopping rule looked), is at most %s; "+
		"every row must pass, so that needs no correction. It is a regression if p of a worsening of at most %s, corrected for the number of rows (Holm's step-down), is below 2.5 %%. "+
		"The least it may be worse holds for all rows at once. Behind \"B against A\" is the row's own interval, 95 %% on both sides together", figure.Share(limit), figure.Share(limit))
	for _, m := range asked.Metrics {
		if !slices.ContainsFunc(c.Rows, func(r Row) bool { return r.of([]string{m}) }) {
			return nil, fmt.Errorf("gate: no metric %q in both runs%s: %w%w", m, bench.DidYouMean(m, metricNames(c)), bench.ErrInvalid, bench.Hint("they have "+strings.Join(metricNames(c), ", ")))
		}
	}
	for _, p := range asked.Platforms {
		if !slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Platform == p }) {
			return nil, fmt.Errorf("gate: no platform %q in both runs%s: %w%w", p, bench.DidYouMean(p, platformNames(c)), bench.ErrInvalid, bench.Hint("they have "+strings.Join(platformNames(c), ", ")))
		}
	}
	rows := asked.rows(c)
	if len(rows) == 0 {
		return nil, fmt.Errorf("gate: no main metric of a case is in both runs: %w%w", bench.ErrInvalid, bench.Hint("name one with --metric: "+strings.Join(metricNames(c), ", ")))
	}
	g.judge(rows)
	g.decide()
	return g, nil
}

// rows are those of the comparison that are asked for.
func (a Asked) rows(c *Comparison) []*Row {
	var rows, others []*Row // others: not of the baseline
	for i := range c.Rows {
		r := &c.Rows[i]
		if len(a.Metrics) == 0 && !r.Metric.Headline || len(a.Metrics) > 0 && !r.of(a.Metrics) || len(a.Platforms) > 0 && !slices.Contains(a.Platforms, r.Platform) {
			continue
		}
		rows = append(rows, r)
		if !r.Baseline {
			others = append(others, r)
		}
	}
	if len(a.Platforms) == 0 && len(others) > 0 {
		return others
	}
	return rows
}

func platformNames(c *Comparison) []string {
	var names []string
	for _, r := range c.Rows {
		if !slices.Contains(names, r.Platform) {
			names = append(names, r.Platform)
		}
	}
	return names
}

// of reports whether a row is of one of the metrics, or of what is left of it.
func (r *Row) of(metrics []string) bool {
	return slices.Contains(metrics, r.Metric.Name) || r.Relative != nil && slices.Contains(metrics, r.Relative.Of)
}

func metricNames(c *Comparison) []string {
	var names []string
	for _, r := range c.Rows {
		if !slices.Contains(names, r.Metric.Name) {
			names = append(names, r.Metric.Name)
		}
	}
	return names
}

// judge fills the rows; p of a row without an interval is NaN, which Holm leaves out.
func (g *Gate) judge(rows []*Row) {
	p := make([]float64, len(rows))
	tests := 0
	for i, r := range rows {
		p[i] = math.NaN()
		if r.Change.bounds != nil {
			p[i] = min(1, worse(r, g.Limit)*tail/r.Change.tail())
			tests++
		}
	}
	for i, corrected := range stats.Holm(p) {
		r := rows[i]
		g.Rows = append(g.Rows, GateRow{Case: r.Case, Title: r.Title, Platform: r.Platform, Metric: r.Metric, Relative: r.Relative, Words: r.Change.Words, Cost: r.Change.Cost})
		if row := &g.Rows[i]; r.Change.bounds != nil {
			row.SpeaksFor = r.Change.SpeaksFor
			g.bound(row, r, corrected, r.Change.tail()/float64(tests))
		} else {
			g.without(row, r)
		}
	}
}

// worse is p of the hypothesis that the worsening is at most the limit.
func worse(r *Row, limit float64) float64 {
	if r.Metric.Better == bench.HigherIsBetter {
		return r.Change.bounds.Below(1-limit, r.Change.tail())
	}
	return r.Change.bounds.Above(1+limit, r.Change.tail())
}

// bound decides a row that has an interval, by its corrected p of being worse
// than the limit; its lower bound is made with the tail at.
func (g *Gate) bound(row *GateRow, r *Row, p, at float64) {
	row.P = &p
	row.Low, row.High = costs(r, at)
	switch {
	case p < tail:
		row.Decision = Regression
		row.Why = fmt.Sprintf("%s, more than the %s allowed (%s over all rows)", result.Change(r.Change.Ratio, r.Metric), figure.Share(g.Limit), figure.P(p))
	case row.High > g.Limit:
		row.Decision = Undecided
		row.Why = fmt.Sprintf("between %s and %s; %s is allowed", worsening(row.Low), worsening(row.High), figure.Share(g.Limit))
		row.Decide = g.needed(r, at)
	case r.B.Overdue > r.A.Overdue:
		row.Decision = Undecided
		row.Why = fmt.Sprintf("at most %s by the launches that finished, but the containment's time limit was reached in %d in B and %d in A", worsening(row.High), r.B.Overdue, r.A.Overdue)
		row.Decide = "give the containment more time, then measure both again"
	case r.B.Alone > r.A.Alone:
		row.Decision = Undecided
		row.Why = fmt.Sprintf("at most %s by the launches beside a neighbour, but it had ended early in %d in B and %d in A", worsening(row.High), r.B.Alone, r.A.Alone)
		row.Decide = "see why the neighbour ended, then measure B again"
	case r.B.Failed > r.A.Failed:
		row.Decision = Undecided
		row.Why = fmt.Sprintf("at most %s by the launches that finished, but %d failed in B and %d in A", worsening(row.High), r.B.Failed, r.A.Failed)
		row.Decide = "see why launches failed, then measure B again"
	default:
		row.Decision = Pass
		row.Why = fmt.Sprintf("at most %s; %s is allowed", worsening(row.High), figure.Share(g.Limit))
	}
	if r.Change.SpeaksFor == TheseRuns {
		row.ofRuns()
	}
}

// MoreRuns is what would let a gate speak for the platform.
const MoreRuns = "several runs a side (tare gate A1 A2 A3 with B1 B2 B3), earlier runs of this host (--archive), or both in one run (tare ab)"

// ofRuns takes a decision for what it is if one run a side made it.
func (row *GateRow) ofRuns() {
	switch row.Decision {
	case Regression:
		row.Decision = RegressionOfRuns
		row.Why += "; one run a side cannot tell the platform from the run"
		row.Decide = MoreRuns
	case Pass:
		row.Decision = PassOfRuns
	}
}

// costs are the least, with the tail at, and the most that a row's worsening may be.
func costs(r *Row, at float64) (low, high float64) {
	bounds, tail := r.Change.bounds, r.Change.tail()
	if r.Metric.Better == bench.HigherIsBetter {
		return 1 - bounds.Upper(at), 1 - bounds.Lower(tail)
	}
	return bounds.Lower(at) - 1, bounds.Upper(tail) - 1
}

// without decides a row that has no interval.
func (g *Gate) without(row *GateRow, r *Row) {
	row.Decision, row.Why = Undecided, r.Change.Why
	switch {
	case r.Change.Verdict == result.Unfair:
		row.Decision, row.Why = Unfair, r.Change.Unfair
		row.Decide = "measure both runs alike, or say --allow-unfair and take the blame"
	case r.B.N() == 0 && r.B.Failed > 0 && r.A.N() > 0 && r.A.Failed == 0:
		row.Decision = Regression
		row.Why = fmt.Sprintf("no launch finishes any more: %d of %d failed in B, all %d finished in A", r.B.Failed, r.B.Failed, r.A.N())
	case r.Broke():
		row.Decision = Failed
		row.Why = fmt.Sprintf("no launch finished to be compared: %s and %s", failures("A", r.A), failures("B", r.B))
		row.Decide = "see why launches failed (tare report), then measure again"
	default:
		row.Decide = fmt.Sprintf("at least %d launches that finish in each run", stats.MinTested)
	}
}

// failures says how many launches of a side failed.
func failures(side string, v Values) string {
	if v.broke() {
		return fmt.Sprintf("all %d failed in %s", v.Failed, side)
	}
	return fmt.Sprintf("%d finished in %s", v.N(), side)
}

// needed says how much would decide a row if its estimate and scatter stay as they are.
func (g *Gate) needed(r *Row, at float64) string {
	limit := math.Log(1 + g.Limit)
	if r.Metric.Better == bench.HigherIsBetter {
		limit = math.Log(1 - g.Limit)
	}
	distance, risk := math.Abs(limit-math.Log(r.Change.Ratio)), r.Change.tail()
	if r.Change.Cost > g.Limit {
		risk = at
	}
	need := r.Change.bounds.Needed(distance, risk)
	noun, where, has := "block", " in each run", min(r.A.N(), r.B.N())
	switch r.Change.Basis {
	case OfRuns, OfArchive:
		noun, where, has = "run", " a side", min(len(r.A.Values), len(r.B.Values))
	case OfBlocks:
		where = ""
	}
	if need.N == 0 {
		_, most := costs(r, at)
		return fmt.Sprintf("this host does not decide it: %d %ss%s would not do; use a limit of at least %s, or a quieter host", stats.MostNeeded, noun, where, figure.Share(math.Ceil(1000*most)/1000))
	}
	return fmt.Sprintf("%s%s for a chance of %.0f %% if the change stays as it is, or a quieter host", result.Needed(need.AtLeast(has+1), noun), where, 100*stats.Power)
}

// decide sums up the rows: unfair before regression, of the platform and of the
// runs, before failed and undecided; and a pass of two runs before one of the platform.
func (g *Gate) decide() {
	of := map[Decision][]string{}
	for i := range g.Rows {
		r := &g.Rows[i]
		of[r.Decision] = append(of[r.Decision], fmt.Sprintf("%s of %s on %s: %s", r.Metric.Name, r.Title, r.Platform, r.Why))
	}
	c := g.Comparison
	switch {
	case len(of[Unfair]) > 0:
		g.Decision = Unfair
	case len(of[Regression]) > 0:
		g.Decision = Regression
	case len(of[RegressionOfRuns]) > 0:
		g.Decision = RegressionOfRuns
	case len(of[Failed]) > 0:
		g.Decision = Failed
	case len(of[Undecided]) > 0:
		g.Decision = Undecided
	case missing(c.A) > 0 || missing(c.B) > 0:
		g.Decision = Undecided
		g.Why = fmt.Sprintf("nothing measured is worse by more than %s, but trials are missing: %d in A, %d in B; finish them with tare resume", figure.Share(g.Limit), missing(c.A), missing(c.B))
		return
	case len(c.OnlyA) > 0:
		g.Decision = Undecided
		g.Why = fmt.Sprintf("nothing in both runs is worse by more than %s, but B lacks what A has: %s", figure.Share(g.Limit), strings.Join(c.OnlyA, "; "))
		return
	case len(of[PassOfRuns]) > 0:
		g.Decision = PassOfRuns
		g.Why = fmt.Sprintf("no metric is worse by more than %s in run B than in run A", figure.Share(g.Limit))
		return
	default:
		g.Decision = Pass
		g.Why = fmt.Sprintf("no metric got worse by more than %s", figure.Share(g.Limit))
		return
	}
	g.Why = strings.Join(of[g.Decision], "; ")
}

// missing counts the trials without an outcome of a side.
func missing(runs []Side) (n int) {
	for _, r := range runs {
		n += r.Missing
	}
	return n
}

// worsening says a cost with its direction.
func worsening(cost float64) string {
	if cost < 0 {
		return fmt.Sprintf("%.1f %% better", -100*cost)
	}
	return fmt.Sprintf("%.1f %% worse", 100*cost)
}

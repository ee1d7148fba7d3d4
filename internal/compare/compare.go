// Package compare sets two runs side by side: what changed from run A to run B
// for each platform in each case, how sure that is, and whether the two runs
// may be compared at all. A gate decides from it whether something got worse
// by more than is allowed.
package compare

import (
	"fmt"
	"slices"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/store"
)

// Format is the version of the JSON of a [Comparison].
const Format = "tare-compare/1"

// A Run is one side of a comparison.
type Run struct {
	Store  *store.Run
	Result *result.Result
}

// Options of a comparison.
type Options struct {
	// Relative divides each launch by the baseline's of the same block before
	// the runs are compared, which takes out what moved the whole host.
	Relative bool
	// AllowUnfair gives ratios also where the runs must not be compared.
	AllowUnfair bool
}

// Comparison is what changed from run A to run B.
type Comparison struct {
	Format string `json:"format"` // "tare-compare/1"
	A      Side   `json:"a"`
	B      Side   `json:"b"`
	// Relative: values are ratios to the baseline of the same block.
	Relative bool    `json:"relative"`
	Baseline string  `json:"baseline,omitempty"` // if it is the same in both
	Margin   float64 `json:"margin"`             // of equivalence, the narrower of the two
	// Method says in words what was compared and how.
	Method string `json:"method"`
	// Checks of what concerns all rows; subject is run B and baseline run A.
	Checks []audit.Check `json:"checks"`
	Rows   []Row         `json:"rows"`
	// OnlyA and OnlyB are the scenes, CASE/PLATFORM, and metrics of one run only; of
	// a platform that the other lacks "PLATFORM, everywhere".
	OnlyA    []string `json:"only_a,omitempty"`
	OnlyB    []string `json:"only_b,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Side is a run by name.
type Side struct {
	Run        string `json:"run"`
	Experiment string `json:"experiment"`
	Started    string `json:"started"` // RFC 3339
	Tare       string `json:"tare"`
	Missing    int    `json:"missing,omitempty"` // planned trials without an outcome
}

// Row is one metric of one platform in one case.
type Row struct {
	Case     string       `json:"case"`
	Title    string       `json:"title"`
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Baseline bool         `json:"baseline,omitempty"` // it is the runs' own baseline
	Metric   bench.Metric `json:"metric"`
	Kept     *Kept        `json:"kept,omitempty"` // of a row of what is left
	A        Values       `json:"a"`
	B        Values       `json:"b"`
	Change   Change       `json:"change"`
	// Checks are those of this scene that are not the same on both sides.
	Checks []audit.Check `json:"checks,omitempty"`
}

// Values are one run's share of a row.
type Values struct {
	// Values of every finished launch in block order, or their ratios to the baseline's.
	Values  []float64 `json:"values"`
	Median  float64   `json:"median"` // 0 if there are no values
	Failed  int       `json:"failed,omitempty"`
	Overdue int       `json:"overdue,omitempty"` // ended by the time of their cages, which says nothing of the platform
	Missing int       `json:"missing,omitempty"`
	Version string    `json:"version,omitempty"` // of the platform
}

// Change is run B over run A.
type Change struct {
	// Ratio is the geometric mean of B's values over that of A's; Low and High
	// bound its 95 % interval. All are 0 if refused or unfair.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Cost is the change in the direction that hurts: positive is worse.
	Cost float64 `json:"cost"`
	// P is of the permutation test, Holm the same corrected over the headline rows.
	P       *float64       `json:"p,omitempty"`
	Holm    *float64       `json:"p_holm,omitempty"`
	Verdict result.Verdict `json:"verdict"`
	Why     string         `json:"why,omitempty"`
	// Words says the change with its direction, such as "7.1 % slower (5.0 to 9.3)".
	Words string `json:"words"`
	// Unfair says why the two must not be compared; it is shown wherever the change is.
	Unfair string `json:"unfair,omitempty"`

	two stats.Two
	ok  bool // two holds a comparison
}

// Runs compares B with A. It is an error that wraps bench.ErrInvalid if they
// share nothing, or if they have no common baseline and Relative asks for one.
func Runs(a, b Run, o Options) (*Comparison, error) {
	c := &Comparison{
		Format: Format, A: side(a), B: side(b), Relative: o.Relative,
		Margin: min(a.Result.Margin, b.Result.Margin), Checks: runChecks(a, b),
	}
	if a.Result.Baseline == b.Result.Baseline {
		c.Baseline = a.Result.Baseline
	} else if o.Relative {
		return nil, fmt.Errorf("compare relative to the baseline: A has %s, B has %s: %w%w", a.Result.Baseline, b.Result.Baseline,
			bench.ErrInvalid, bench.Hint("compare the runs without --relative-to-baseline"))
	}
	c.Method = method(c)
	c.rows(a, b, o)
	c.keptRows(a, b, o)
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("compare %s with %s: no metric of a platform in a case is in both: %w%w", c.B.Run, c.A.Run,
			bench.ErrInvalid, bench.Hint("compare two runs of one specification"))
	}
	c.holm()
	c.warn(a, b)
	return c, nil
}

func side(r Run) Side {
	return Side{r.Result.Run, r.Result.Experiment, r.Result.Started, r.Store.Header().Tare, r.Result.Trials.Missing}
}

func method(c *Comparison) string {
	what := "values of launches"
	if c.Relative {
		what = "ratios of launches to " + c.Baseline + " in the same block"
	}
	return "run B over run A: ratio of the geometric means of " + what + ", which are not paired between the runs" +
		" (where scenes are set against others, also of what is left in each block); " +
		"95 % interval by Welch's t on the logs, p by permutation of Welch's t, Holm over the headline rows; " +
		"the interval covers the scatter of launches within each run, not what may differ from one run to the next"
}

// rows pairs the rows of both results by case, platform and metric.
func (c *Comparison) rows(a, b Run, o Options) {
	type key struct{ scene, metric string }
	at := map[key]*result.Row{}
	seen := map[key]bool{}
	inA, inB := measuredOn(a), measuredOn(b)
	for i := range b.Result.Cases {
		k := &b.Result.Cases[i]
		for j := range k.Rows {
			at[key{k.Name + "/" + k.Rows[j].Platform, k.Rows[j].Metric.Name}] = &k.Rows[j]
		}
	}
	for i := range a.Result.Cases {
		k := &a.Result.Cases[i]
		for j := range k.Rows {
			ra := &k.Rows[j]
			scene := k.Name + "/" + ra.Platform
			rb := at[key{scene, ra.Metric.Name}]
			if rb == nil {
				c.OnlyA = only(c.OnlyA, ra.Platform, inB, scene+" "+ra.Metric.Name)
				continue
			}
			seen[key{scene, ra.Metric.Name}] = true
			if o.Relative && (ra.Baseline || rb.Baseline) {
				continue
			}
			c.Rows = append(c.Rows, c.row(k, ra, rb, sceneChecks(a, b, scene, k, ra, rb), o))
		}
	}
	for i := range b.Result.Cases {
		k := &b.Result.Cases[i]
		for j := range k.Rows {
			if scene := k.Name + "/" + k.Rows[j].Platform; !seen[key{scene, k.Rows[j].Metric.Name}] {
				c.OnlyB = only(c.OnlyB, k.Rows[j].Platform, inA, scene+" "+k.Rows[j].Metric.Name)
			}
		}
	}
}

// measuredOn are the platforms with a row in the run.
func measuredOn(r Run) map[string]bool {
	all := map[string]bool{}
	for _, k := range r.Result.Cases {
		for _, row := range k.Rows {
			all[row.Platform] = true
		}
	}
	return all
}

// only adds what one run has alone; of a platform that the other run has nowhere, this once.
func only(list []string, platform string, other map[string]bool, what string) []string {
	if !other[platform] {
		what = platform + ", everywhere"
	}
	if slices.Contains(list, what) {
		return list
	}
	return append(list, what)
}

func (c *Comparison) row(k *result.Case, ra, rb *result.Row, checks []audit.Check, o Options) Row {
	row := Row{
		Case: k.Name, Title: k.Title, Platform: ra.Platform, Label: rb.Label, Baseline: ra.Baseline && rb.Baseline, Metric: ra.Metric,
		A: valuesOf(ra, o.Relative), B: valuesOf(rb, o.Relative),
	}
	for _, check := range checks {
		switch check.Name {
		case platformVersion:
			row.A.Version, row.B.Version = check.Baseline, check.Subject
		}
		if check.State != audit.Same {
			row.Checks = append(row.Checks, check)
		}
	}
	all := audit.Audit{Checks: append(append([]audit.Check{}, c.Checks...), checks...)}
	why := reasons(all.Invalid())
	if o.Relative {
		for _, e := range []*result.Effect{ra.Effect, rb.Effect} {
			if why == "" && e != nil && e.Unfair != "" {
				why = "within a run: " + e.Unfair
			}
		}
	}
	row.Change = c.change(&row, why, o)
	return row
}

// valuesOf are a row's launches, or their ratios to the baseline.
func valuesOf(r *result.Row, relative bool) Values {
	v := Values{Failed: r.Failed + r.DNF, Overdue: r.Overdue, Missing: r.Missing}
	return v.of(r.Points, r.Effect, relative)
}

// of fills in the points, or the ratios of their effect if they are relative to the baseline.
func (v Values) of(points []result.Point, effect *result.Effect, relative bool) Values {
	if relative {
		points = nil
		if effect != nil {
			points = effect.Ratios
		}
	}
	v.Values = make([]float64, 0, len(points))
	for _, p := range points {
		v.Values = append(v.Values, p.Value)
	}
	if len(v.Values) > 0 {
		v.Median = stats.Median(v.Values)
	}
	return v
}

func (c *Comparison) warn(a, b Run) {
	for _, s := range []struct {
		name string
		run  Run
	}{{"A", a}, {"B", b}} {
		if n := s.run.Result.Trials.Missing; n > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("run %s is not complete: %d of %d trials have no outcome", s.name, n, s.run.Result.Trials.Planned))
		}
		if n := s.run.Result.Trials.Failed; n > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("run %s: %d of %d trials failed", s.name, n, s.run.Result.Trials.Planned))
		}
	}
	if a.Result.Run == b.Result.Run {
		c.Warnings = append(c.Warnings, "A and B are the same run: nothing can differ")
	}
	if c.Relative {
		return
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Baseline && r.Kept == nil && r.Metric.Headline && r.Change.Verdict == result.Differs {
			hint := "--relative-to-baseline takes out what the platforms have in common"
			c.Warnings = append(c.Warnings, fmt.Sprintf("the baseline itself changed: %s on %s: %s; either the host or the program is not what it was; %s",
				r.Title, r.Platform, r.Change.Words, hint))
		}
	}
}

// Package compare sets two runs side by side: what changed from run A to run B
// for each platform in each case, how sure that is, and whether the two runs
// may be compared at all. A gate decides from it whether something got worse
// by more than is allowed.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// A Run is one of the runs of a side of a comparison.
type Run struct {
	Store  *store.Run
	Result *result.Result
}

// name is the run's id.
func (r Run) name() string { return r.Result.Run }

// audited is what the audit of two runs looks at.
func (r Run) audited() audit.Run {
	h := r.Store.Header()
	a := audit.Run{Image: h.Image, ImageMade: h.ImageMade, Tare: h.Tare, Agent: h.Agent, Programs: h.Programs, ObserverCPUs: h.ObserverCPUs, Host: r.Store.Host()}
	if m := r.Result.Mixed; m != nil {
		a.Mixed = fmt.Sprintf("%d (%s)", m.Trials, strings.Join(m.Differs, "; "))
	}
	return a
}

// row is what the audit of a row looks at.
func (r Run) row(scene string, k *result.Case, row *result.Row) audit.Row {
	a := audit.Row{Scene: r.Store.Plan().Scene(scene), Metric: row.Metric, Resource: k.Resource, Host: r.Store.Host()}
	for _, p := range r.Result.Platforms {
		if p.Name == row.Platform {
			a.Version, a.Label, a.Kernel, a.Files = p.Version, p.Label, p.Kernel, p.Files
		}
	}
	return a
}

// level is the confidence that the run's intervals of a platform in a case were made
// at: higher than of one look if a stopping rule looked more than once, and highest
// where deciding ended the platform.
func (r Run) level(name, platform string) float64 {
	level := effect.Confidence
	for _, s := range r.Result.Stops {
		if s.Case == name {
			level = max(level, s.Confidence, s.Levels[platform])
		}
	}
	return level
}

// Options of a comparison.
type Options struct {
	// Relative divides each launch by the baseline's of the same block before
	// the runs are compared, which takes out what moved the whole host.
	Relative bool
	// AllowUnfair gives ratios also where the runs must not be compared.
	AllowUnfair bool
	// Archive are earlier runs of the host. They tell how much its runs differ
	// from each other where a side is one run.
	Archive []Run
}

// Runs compares the runs b with the runs a. It is an error that wraps
// bench.ErrInvalid if they share nothing, or if they have no common baseline and
// Relative asks for one.
func Runs(a, b []Run, o Options) (*Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, fmt.Errorf("compare: a side without a run: %w", bench.ErrInvalid)
	}
	c := &Comparison{Format: Format, Relative: o.Relative, Margin: a[0].Result.Margin, Checks: audit.CompareRuns(a[0].audited(), b[0].audited())}
	common := true
	for _, r := range slices.Concat(a, b) {
		c.Margin = min(c.Margin, r.Result.Margin)
		common = common && r.Result.Baseline == a[0].Result.Baseline
	}
	for _, r := range slices.Concat(a, b) {
		if o.Relative && !common && r.Result.Baseline != a[0].Result.Baseline {
			return nil, fmt.Errorf("compare relative to the baseline: %s has %s, %s has %s: %w%w", a[0].name(), a[0].Result.Baseline, r.name(), r.Result.Baseline,
				bench.ErrInvalid, bench.Hint("compare the runs without --relative-to-baseline"))
		}
	}
	if common {
		c.Baseline = a[0].Result.Baseline
	}
	c.A, c.B = sides(a), sides(b)
	c.alike("A", a)
	c.alike("B", b)
	o.Archive = c.fitting(a, b, o)
	c.Archive = sides(o.Archive)
	c.rows(a, b, o)
	c.relativeRows(a, b, o)
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("compare %s with %s: no metric of a platform in a case is in all of them: %w%w", names(b), names(a),
			bench.ErrInvalid, bench.Hint("compare runs of one specification"))
	}
	c.holm()
	c.speak()
	c.Method = method(c)
	c.warn(a, b)
	return c, nil
}

func sides(runs []Run) []Side {
	var out []Side
	for _, r := range runs {
		out = append(out, r.side())
	}
	return out
}

func (r Run) side() Side {
	return Side{Run: r.name(), Experiment: r.Result.Experiment, Started: r.Result.Started, Tare: r.Store.Header().Tare, Missing: r.Result.Trials.Missing}
}

func names(runs []Run) string {
	var out []string
	for _, r := range runs {
		out = append(out, r.name())
	}
	return strings.Join(out, ", ")
}

// speak sums up what the changes speak for.
func (c *Comparison) speak() {
	for i := range c.Rows {
		ch := &c.Rows[i].Change
		if ch.bounds != nil && c.SpeaksFor != TheseRuns {
			c.SpeaksFor = ch.SpeaksFor
		}
	}
}

// has reports whether a change has the basis.
func (c *Comparison) has(basis Basis) bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Change.Basis == basis })
}

func method(c *Comparison) string {
	what := "values of launches"
	if c.Relative {
		what = "ratios of launches to " + c.Baseline + " in the same block"
	}
	text := "B over A: ratio of the geometric means of " + what + ", which are not paired between the runs" +
		" (where scenes are set against others, also of what is left in each block); p is corrected for how many main metrics there are (Holm)"
	for _, way := range []struct {
		basis Basis
		text  string
	}{
		{OfLaunches, "interval by Welch's t on the logs of launches, p by permutation of Welch's t: they cover the scatter of launches within each run, " +
			"not what may differ from one run to the next, so they speak for these two runs only"},
		{OfRuns, "several runs a side: interval and p by Welch's t on the runs' means of the logs"},
		{OfArchive, "one run on a side: interval and p by Student's t, with the variance between runs learnt from other runs of the host, by Satterthwaite's degrees of freedom"},
	} {
		if c.has(way.basis) {
			text += "; " + way.text
		}
	}
	return text
}

// key tells a row from all others of a run.
type key struct{ scene, metric string }

func (k key) String() string { return k.scene + " " + k.metric }

// placed is a row with its case.
type placed struct {
	in  *result.Case
	row *result.Row
}

// placedRows are a run's rows, and their order. What subjects used is compared within a run alone: of
// two runs it follows from what else was on the host.
func placedRows(r Run) (map[key]placed, []key) {
	at, order := map[key]placed{}, []key(nil)
	for i := range r.Result.Cases {
		k := &r.Result.Cases[i]
		for j := range k.Rows {
			if slices.Contains(bench.UsageMetrics, k.Rows[j].Metric) {
				continue
			}
			name := key{k.Name + "/" + k.Rows[j].Platform, k.Rows[j].Metric.Name}
			at[name] = placed{k, &k.Rows[j]}
			order = append(order, name)
		}
	}
	return at, order
}

// A table is what runs of one side have, by what tells it from all else.
type table[K comparable, V any] struct {
	runs  []map[K]V
	order []K // of all runs
}

func tableOf[K comparable, V any](runs []Run, read func(Run) (map[K]V, []K)) table[K, V] {
	var t table[K, V]
	for _, r := range runs {
		at, order := read(r)
		for _, k := range order {
			if !slices.ContainsFunc(t.runs, func(earlier map[K]V) bool { _, has := earlier[k]; return has }) {
				t.order = append(t.order, k)
			}
		}
		t.runs = append(t.runs, at)
	}
	return t
}

// of is what each run has at k, and whether all have it.
func (t table[K, V]) of(k K) (found []V, all bool) {
	all = true
	for _, at := range t.runs {
		v, has := at[k]
		if has {
			found = append(found, v)
		}
		all = all && has
	}
	return found, all
}

// both calls pair with what all runs of both sides have, in the order of a, and
// lists what some lack.
func both[K interface {
	comparable
	fmt.Stringer
}, V any](c *Comparison, a, b []Run, read func(Run) (map[K]V, []K), platform func(V) string, pair func(k K, a, b []V)) {
	ta, tb := tableOf(a, read), tableOf(b, read)
	inA, inB := measuredOn(a), measuredOn(b)
	for _, k := range ta.order {
		x, allA := ta.of(k)
		y, allB := tb.of(k)
		switch {
		case !allB:
			c.OnlyA = only(c.OnlyA, platform(x[0]), inB, k.String())
		case !allA:
			c.OnlyB = only(c.OnlyB, platform(x[0]), inA, k.String())
		default:
			pair(k, x, y)
		}
	}
	for _, k := range tb.order {
		if x, _ := ta.of(k); len(x) == 0 {
			y, _ := tb.of(k)
			c.OnlyB = only(c.OnlyB, platform(y[0]), inA, k.String())
		}
	}
}

// rows pairs the rows of all results by case, platform and metric.
func (c *Comparison) rows(a, b []Run, o Options) {
	archived := tableOf(o.Archive, placedRows)
	both(c, a, b, placedRows, func(p placed) string { return p.row.Platform }, func(k key, x, y []placed) {
		for _, p := range slices.Concat(x, y) {
			if o.Relative && p.row.Baseline {
				return
			}
		}
		c.Rows = append(c.Rows, c.row(a, b, k, x, y, archived, o))
	})
}

// measuredOn are the platforms with a row in any of the runs.
func measuredOn(runs []Run) map[string]bool {
	all := map[string]bool{}
	for _, r := range runs {
		for _, k := range r.Result.Cases {
			for _, row := range k.Rows {
				all[row.Platform] = true
			}
		}
	}
	return all
}

// only adds what one side has alone; of a platform that the other has nowhere, this once.
func only(list []string, platform string, other map[string]bool, what string) []string {
	if !other[platform] {
		what = platform + ", everywhere"
	}
	if slices.Contains(list, what) {
		return list
	}
	return append(list, what)
}

func (c *Comparison) row(a, b []Run, at key, x, y []placed, archived table[key, placed], o Options) Row {
	ra, rb := x[0].row, y[0].row
	row := Row{
		Case: x[0].in.Name, Title: x[0].in.Title, Platform: ra.Platform, Label: rb.Label, Baseline: ra.Baseline && rb.Baseline, Metric: ra.Metric,
		A: valuesOf(x, o.Relative), B: valuesOf(y, o.Relative),
	}
	var within []*result.Effect
	if o.Relative {
		for _, p := range slices.Concat(x, y) {
			within = append(within, p.row.Effect)
		}
	}
	side := func(runs []Run, ps []placed) (out []audit.Row) {
		for i, p := range ps {
			out = append(out, runs[i].row(at.scene, p.in, p.row))
		}
		return out
	}
	auditsA, auditsB := side(a, x), side(b, y)
	for i, r := range o.Archive {
		if p, has := archived.runs[i][at]; has && fits(audit.CompareRows(auditsA[0], r.row(at.scene, p.in, p.row))) && (!o.Relative || stands(p.row.Effect)) {
			row.archived(valuesOf([]placed{p}, o.Relative))
		}
	}
	level := effect.Confidence
	for _, r := range slices.Concat(a, b) {
		level = max(level, r.level(row.Case, row.Platform))
	}
	row.Change = c.change(&row, level, c.fair(&row, audit.CompareRows(auditsA[0], auditsB[0]), unlikeRows(a, auditsA)+unlikeRows(b, auditsB), within...), o)
	return row
}

// stands reports whether nothing within a run forbids to use an effect.
func stands(e *result.Effect) bool {
	return e == nil || e.Verdict != result.Unfair && e.Unfair == ""
}

// archived adds what an archived run has, if it is enough for a mean.
func (r *Row) archived(v Values) {
	if len(v.Values[0]) >= stats.MinTested {
		r.archive = append(r.archive, v.Values[0])
	}
}

// valuesOf are the launches of rows of a side, or their ratios to the baseline.
func valuesOf(rows []placed, relative bool) Values {
	var v Values
	for _, p := range rows {
		v.count(p.row.Failed, p.row.DNF, p.row.Overdue, p.row.Missing, p.row.Alone)
		v.add(p.row.Points, p.row.Effect, relative)
	}
	return v
}

func (v *Values) count(failed, dnf, overdue, missing, alone int) {
	v.broken += failed
	v.Failed += failed + dnf
	v.Overdue += overdue
	v.Missing += missing
	v.Alone += alone
}

// add takes in a run's points, or the ratios of their effect if they are relative to the baseline.
func (v *Values) add(points []result.Point, effect *result.Effect, relative bool) {
	if relative {
		points = nil
		if effect != nil {
			points = effect.Ratios
		}
	}
	values := make([]float64, 0, len(points))
	for _, p := range points {
		values = append(values, p.Value)
	}
	v.Values = append(v.Values, values)
	if all := v.all(); len(all) > 0 {
		v.Median = stats.Median(all)
	}
}

func (c *Comparison) warn(a, b []Run) {
	seen := map[string]string{}
	for _, s := range []struct {
		name string
		runs []Run
	}{{"A", a}, {"B", b}} {
		for _, r := range s.runs {
			name := s.name
			if len(s.runs) > 1 {
				name += " (" + r.name() + ")"
			}
			if n := r.Result.Trials.Missing; n > 0 {
				c.Warnings = append(c.Warnings, fmt.Sprintf("run %s is not complete: %d of %d trials have no outcome", name, n, r.Result.Trials.Asked))
			}
			if n := r.Result.Trials.Failed; n > 0 {
				c.Warnings = append(c.Warnings, fmt.Sprintf("run %s: %d of %d trials failed", name, n, r.Result.Trials.Asked))
			}
			if earlier, twice := seen[r.name()]; twice {
				c.Warnings = append(c.Warnings, fmt.Sprintf("%s and %s are the same run: nothing can differ", earlier, name))
			}
			seen[r.name()] = name
		}
	}
	if c.Relative {
		return
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Baseline && r.Relative == nil && r.Metric.Headline && r.Change.Verdict == result.Differs {
			hint := "--relative-to-baseline takes out what the platforms have in common"
			c.Warnings = append(c.Warnings, fmt.Sprintf("the baseline itself changed: %s on %s: %s; either the host or the program is not what it was; %s",
				r.Title, r.Platform, r.Change.Words, hint))
		}
	}
}

package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Summary is a result in short: what a person would say of it.
type Summary struct {
	// Sentences answer the question, three to six of them where there is so much to say.
	Sentences []string `json:"sentences"`
	// Costs are what each platform costs each kind of work: the cases in their order, of each the
	// platforms in theirs.
	Costs []Cost `json:"costs"`
	// Cautions are what to be careful about, a line each, what weighs most first.
	Cautions []string `json:"cautions,omitempty"`
}

// Cost is what one platform costs one kind of work, by the case's first headline metric; or, of
// scenes that are set against others, what a platform keeps in one of them.
type Cost struct {
	Case     string       `json:"case"`
	Work     string       `json:"work"` // what a sentence calls it
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Metric   bench.Metric `json:"metric"`
	// Speed is how fast the platform is beside what it is compared with, whatever the metric's
	// direction: 0.5 is half as fast. Low and High bound it; all are 0 where there is no ratio.
	Speed float64 `json:"speed"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Added is what the platform adds, of a metric of which that is said.
	Added   *Added  `json:"added,omitempty"`
	Verdict Verdict `json:"verdict"`
	Kept    bool    `json:"kept,omitempty"` // it is what the platform keeps of itself
	// Short says it for a cell of a table, Bounds its interval: "+7.1 %" and "5.0 to 9.3"; "?" and
	// "-1.2 to +4 %" where it is undecided. Positive is worse, whatever the metric's direction. Words
	// say it in full.
	Short  string `json:"short"`
	Bounds string `json:"bounds,omitempty"`
	Words  string `json:"words"`

	effect  *Effect
	cell    *MatrixCell // of what is kept
	against string      // the case that it is set against
	lost    bool        // launches of it finished, or could have, and there is no figure
	ahead   bool        // its launches are still to come
	several bool        // other metrics of its case are among the costs
}

// Cell is Short with Bounds, for a table of text.
func (c Cost) Cell() string {
	switch {
	case c.Bounds == "":
		return c.Short
	case c.Short == "?":
		return "? " + c.Bounds
	}
	return c.Short + " (" + c.Bounds + ")"
}

// Name is the platform with its label.
func (c Cost) Name() string { return Labelled(c.Platform, c.Label) }

// Emulated says whether the platform was emulated, which is no finding about it.
func (c Cost) Emulated() bool { return strings.Contains(c.Label, "emulated") }

// listed is the platform with its label as a sentence lists it.
func (c Cost) listed() string {
	if c.Label == "" {
		return c.Platform
	}
	return c.Platform + " [" + c.Label + "]"
}

// Summarize fills in the summary, from everything else there is.
func (r *Result) Summarize() {
	s := &Summary{Sentences: []string{}, Costs: []Cost{}}
	within := r.Relative.Cases()
	for i := range r.Cases {
		c := &r.Cases[i]
		if within[c.Name] {
			continue
		}
		rows := r.Headline(c)
		several := slices.ContainsFunc(rows, func(row Row) bool { return row.Metric.Name != rows[0].Metric.Name })
		for _, row := range rows {
			if row.Effect == nil {
				continue
			}
			cost := r.costOf(c, &row)
			cost.several = several
			s.Costs = append(s.Costs, cost)
		}
	}
	if r.Relative != nil {
		s.Costs = append(s.Costs, r.Relative.costs(r)...)
	}
	tellApart(s.Costs)
	s.Sentences = append(r.curveSentences(), sentences(s.Costs, r)...)
	if len(s.Costs) == 0 && r.Lone() {
		s.Sentences = append(s.Sentences, r.figures()...)
	}
	if len(s.Costs) > 0 {
		s.Sentences = append(s.Sentences, r.notHere()...)
	}
	s.Cautions = r.cautions(s.Costs)
	r.Summary = s
}

// Lone says whether the baseline alone was measured, so that there is nothing to compare.
func (r *Result) Lone() bool {
	return r.Relative == nil && !slices.ContainsFunc(r.Cases, func(c Case) bool {
		return slices.ContainsFunc(c.Rows, func(row Row) bool { return !row.Baseline })
	})
}

// figures are what a platform alone has: the median of each headline metric.
func (r *Result) figures() (all []string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		for _, row := range r.Headline(c) {
			if row.N > 0 {
				all = append(all, fmt.Sprintf("%s: %s of %s on %s, the median of %s.", c.Work(), strings.ReplaceAll(row.Metric.Name, "_", " "),
					figure.Quantity(row.Median, row.Metric.Unit), Labelled(row.Platform, row.Label), figure.Count(row.N, "launch")))
			}
		}
	}
	return all
}

// notHere says what the experiment asks for and this host lacks: power, and platforms.
func (r *Result) notHere() (all []string) {
	if slices.Contains(r.Answers, bench.PowerMetric.Name) && r.meter() == "" {
		all = append(all, r.noPower())
	}
	var names []string
	for _, s := range r.Skipped {
		if s.Named {
			names = append(names, s.Platform)
		}
	}
	if len(names) > 0 {
		it := "it"
		if len(names) > 1 {
			it = "them"
		}
		all = append(all, listing(names)+": not measured, for this host cannot run "+it+".")
	}
	return all
}

// noPower says why there is no power to compare.
func (r *Result) noPower() string {
	if slices.ContainsFunc(r.Power, func(p Power) bool { return p.Modelled }) {
		return "Power is modelled by the CPU's use, not measured: it is below and not compared."
	}
	return "Power is not known: no meter read that of the machine at rest (--power)."
}

// tellApart gives works of one name the names of their cases, and those of several metrics theirs.
func tellApart(costs []Cost) {
	cases := map[string]string{} // by work, the first
	again := map[string]bool{}
	for _, c := range costs {
		if cases[c.Work] == "" {
			cases[c.Work] = c.Case
		}
		again[c.Work] = again[c.Work] || cases[c.Work] != c.Case
	}
	for i := range costs {
		if again[costs[i].Work] {
			costs[i].Work = costs[i].Case
		}
		if c := &costs[i]; c.several {
			c.Work += ", " + strings.ReplaceAll(c.Metric.Name, "_", " ")
		}
	}
}

// Headline are the rows of the metric that speaks for a case: power, where the run measured that of the
// machine at rest, for then it was asked for. Where the experiment names the metrics that answer its
// question they are those that the case has.
func (r *Result) Headline(c *Case) []Row {
	if rows := c.powerRows(r.meter()); len(rows) > 0 {
		return rows
	}
	if rows := r.answers(c); rows != nil {
		return rows
	}
	i := max(0, slices.IndexFunc(c.Rows, func(row Row) bool { return row.Metric.Headline }))
	var rows []Row
	for _, row := range c.Rows {
		if row.Metric.Name == c.Rows[i].Metric.Name {
			rows = append(rows, row)
		}
	}
	return rows
}

// Work is what a sentence calls the case's work.
func (c *Case) Work() string { return cmp.Or(c.Short, strings.ReplaceAll(c.Name, "-", " ")) }

func (r *Result) costOf(c *Case, row *Row) Cost {
	e := row.Effect
	out := Cost{Case: c.Name, Work: c.Work(), Platform: row.Platform, Label: row.Label, Metric: row.Metric, Verdict: e.Verdict, Added: e.Added, Words: e.Words, effect: e}
	if e.HasRatio() {
		out.Speed, out.Low, out.High = e.Ratio, e.Low, e.High
		if row.Metric.Better == bench.LowerIsBetter {
			out.Speed, out.Low, out.High = 1/e.Ratio, 1/e.High, 1/e.Low
		}
	}
	switch {
	case row.N+row.Failed+row.DNF+row.Overdue+row.Alone == 0 && !r.Complete:
		out.ahead, out.Words = true, "not measured yet"
		out.Short = "not measured yet"
	case row.N == 0 && row.Metric.Name == bench.PowerMetric.Name:
		out.lost, out.Words = true, "power not known"
		out.Short = "no figure"
	case row.N == 0:
		out.lost, out.Words = true, unfinished(row)
		out.Short = "no figure"
	case e.Verdict == Unfair:
		out.Short = "unfair"
	case e.Verdict == Refused:
		out.Short = "not compared"
		if row.Median != 0 {
			out.Bounds = figure.Quantity(row.Median, row.Metric.Unit)
		}
	case e.Waiting > 0:
		out.Short, out.Speed, out.Low, out.High = fmt.Sprintf("%.0f %% idle", 100*e.Waiting), 0, 0, 0
	default:
		out.shorten(r.Margin)
	}
	return out
}

// shorten fills in Short and Bounds.
func (c *Cost) shorten(margin float64) {
	places := 0
	if c.High-c.Low < 0.02 {
		places = 1
	}
	low, high := c.cost(c.High, places), c.cost(c.Low, places) // fast is cheap
	switch {
	case c.Verdict == Equivalent:
		c.Short = "±" + trim(100*margin) + " %"
	case c.Added != nil && c.Verdict == Differs:
		c.Short, c.Bounds = signed(c.Added.Mean, c.Metric.Unit), amount(c.Added.Low)+" to "+amount(c.Added.High)
	case c.Added != nil:
		c.Short, c.Bounds = "?", strings.TrimSpace(signed(c.Added.Low, ""))+" to "+signed(c.Added.High, c.Metric.Unit)
	case c.Verdict == Inconclusive && c.effect.boundless():
		c.Short, c.Bounds = "?", "scatters"
	case c.Verdict == Inconclusive:
		c.Short, c.Bounds = "?", strings.TrimSuffix(low, " %")+" to "+high
	default:
		bare := strings.NewReplacer("+", "", " %", "", "x", "")
		if strings.HasSuffix(low, "x") != strings.HasSuffix(high, "x") {
			bare = strings.NewReplacer("+", "") // "+78 % (33 % to 2.4x)"
		}
		c.Short, c.Bounds = c.cost(c.Speed, places), bare.Replace(low)+" to "+bare.Replace(high)
	}
}

// cost says what a speed costs: "+7.1 %" of a rate that is 7.1 % lower, or of a time that is 7.1 %
// longer; as a factor where words say "times". From 10 % on it has so many places.
func (c *Cost) cost(speed float64, places int) string {
	cost, times := 1-speed, 1/speed
	if c.Metric.Better == bench.LowerIsBetter {
		cost = times - 1
	}
	switch {
	case speed < many, cost >= factor-1:
		return digits(times) + "x"
	case speed >= factor:
		return "1/" + digits(speed) + "x"
	}
	sign := "+"
	if cost < 0 {
		sign = "-"
	}
	text := digits(math.Abs(100 * cost))
	if math.Abs(cost) >= 0.0995 {
		text = figure.Fixed(math.Abs(100*cost), places)
	}
	return sign + text + " %"
}

// costs of the cells, of the headline metrics.
func (m *Matrix) costs(r *Result) []Cost {
	var all []Cost
	rows := map[string]bool{}
	for _, row := range m.Rows {
		rows[row.Row] = true
	}
	for j, column := range m.Columns {
		for _, row := range m.Rows {
			c := row.Cells[j]
			if c == nil || !row.Metric.Headline {
				continue
			}
			work := column
			if len(rows) > 1 {
				work = row.Row + " beside " + strings.TrimPrefix(column, "beside ")
				if r.lonely(c.Case) {
					work = row.Row + ", " + column
				}
			}
			out := Cost{Case: c.Case, Work: work, Platform: row.Platform, Label: row.Label, Metric: row.Metric, Kept: true,
				Verdict: c.Effect.Verdict, Speed: c.Kept, Low: c.Low, High: c.High, Words: c.Words, effect: c.Effect, cell: c, against: row.Case, lost: c.N == 0 && c.Launches > 0}
			out.Short = c.Words
			low, high := c.Span()
			if low != "" {
				out.Bounds = low + " to " + high
			}
			switch _, unit := inUnitOf(c.Kept); {
			case c.Effect.Verdict == Refused && c.Kept > 0:
				out.Short, out.Bounds = "?", c.Words
			case c.Effect.Verdict != Inconclusive:
			case low == "":
				out.Short, out.Bounds = "?", "scatters"
			default:
				out.Short, out.Bounds = "?", out.Bounds+" "+unit
			}
			if c.Besides {
				out.Work = c.Case + " against " + row.Case
			}
			all = append(all, out)
		}
	}
	return all
}

// lonely says whether there is no neighbour in a case, busy or not.
func (r *Result) lonely(name string) bool {
	i := slices.IndexFunc(r.Cases, func(c Case) bool { return c.Name == name })
	return i >= 0 && slices.Contains([]bench.SceneKind{bench.One, bench.Alike}, r.Cases[i].Kind)
}

// plausible is by how much a platform may be faster than the bare host without a question: a guest's
// huge pages or another allocator make a few percent, and what a layer caches makes a lot.
const plausible = 1.25

// implausible questions a gain over the bare host; "" if there is none to question.
func (r *Result) implausible(c Cost) string {
	bare, _, _ := strings.Cut(r.Baseline, "[")
	if bare != bench.Native || c.Kept || c.Verdict != Differs || c.Low < plausible {
		return ""
	}
	gain, than := Change(c.effect.Ratio, c.Metric), "than"
	if strings.Contains(gain, " times as ") {
		than = "as"
	}
	return fmt.Sprintf("%s on %s: %s %s the bare host is not plausible; check that both did the same work, and what is cached", c.Name(), c.Work, gain, than)
}

// called is a warning about scenes with what is wrong first and then what sentences call them, since a line
// that is cut loses its end; as it is if it begins with none.
func (r *Result) called(warning string) string {
	within := r.Relative.Cases()
	scenes, rest, found := strings.Cut(warning, ": ")
	if !found {
		return warning
	}
	var names []string
	for _, scene := range strings.Split(strings.ReplaceAll(scenes, " and ", ", "), ", ") {
		i := slices.IndexFunc(r.Cases, func(c Case) bool { return c.Name == scene || strings.HasPrefix(c.Name, scene+"[") })
		if i < 0 {
			return warning
		}
		c := &r.Cases[i]
		name := cmp.Or(c.Short, c.Title, scene)
		if within[c.Name] {
			name = cmp.Or(c.Title, name)
		}
		if c.Name != scene { // all of its levels, whose words come last
			for range c.Factors {
				name = name[:max(0, strings.LastIndex(name, ", "))]
			}
		}
		if strings.Contains(name, ", ") {
			name = quoted(name)
		}
		names = append(names, cmp.Or(name, scene))
	}
	return rest + " (" + listing(names) + ")"
}

// cautions are what limits what the sentences say, the gravest first.
func (r *Result) cautions(costs []Cost) []string {
	var all []string
	add := func(text string) {
		if text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if !r.Complete {
		add(fmt.Sprintf("not complete: %d of %s have no outcome yet", r.Trials.Missing, figure.Count(r.Trials.Asked, "trial")))
	}
	if n := len(r.Failures); n > 0 {
		add(fmt.Sprintf("%d of %s failed, the first with: %s", n, figure.Count(r.Trials.Asked, "trial"), r.Failures[0].Error))
		if hint := r.Failures[0].Hint; hint != "" {
			add("hint: " + hint)
		}
	}
	for _, c := range costs {
		if c.effect.Unfair != "" {
			add(c.Name() + " on " + c.Work + ": " + c.effect.UnfairWords())
		}
	}
	for _, c := range costs {
		add(r.implausible(c))
	}
	for _, c := range costs {
		warned := func(w string) bool { return c.Label != "" && strings.HasPrefix(w, c.Platform+" is "+c.Label) }
		if c.effect.Caution != "" && !slices.ContainsFunc(r.Warnings, warned) {
			add(c.Platform + ": " + c.effect.Caution)
		}
	}
	var loaded []string // kinds of work
	for _, c := range costs {
		if c.effect.Loaded != "" && !slices.Contains(loaded, c.Work) {
			loaded = append(loaded, c.Work)
		}
	}
	if len(loaded) > 0 {
		add("the load side may be the limit on " + listing(loaded) + ": see each row")
	}
	if c := r.Controls; c != nil && c.Hold < c.Of {
		add(fmt.Sprintf("%s differs from itself in %d of %s: chance, or a bias that the audit cannot see", c.Baseline, c.Of-c.Hold, figure.Count(c.Of, "comparison")))
	}
	for _, w := range r.Warnings {
		add(r.called(w))
	}
	for _, f := range r.HostFacts {
		add(f.Caveat)
	}
	for _, s := range bench.Together(r.Skipped) {
		add("left out: " + s.Platform + ": " + s.Reason)
	}
	return all
}

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

	effect *Effect
	cell   *MatrixCell // of what is kept
	lost   bool        // launches of it finished, or could have, and there is no figure
	ahead  bool        // its launches are still to come
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
		for _, row := range r.Headline(c) {
			if row.Effect != nil {
				s.Costs = append(s.Costs, r.costOf(c, &row))
			}
		}
	}
	if r.Relative != nil {
		s.Costs = append(s.Costs, r.Relative.costs(r)...)
	}
	tellApart(s.Costs)
	s.Sentences = append(s.Sentences, sentences(s.Costs, r)...)
	s.Cautions = r.cautions(s.Costs)
	r.Summary = s
}

// tellApart gives works of one name the names of their cases.
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
	}
}

// Headline are the rows of the metric that speaks for a case: power, where the run measured that of the
// machine at rest, for then it was asked for.
func (r *Result) Headline(c *Case) []Row {
	if rows := c.powerRows(r.meter()); len(rows) > 0 {
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
		out.Short = "not yet"
	case row.N == 0 && row.Metric.Name == PowerMetric.Name:
		out.lost, out.Words = true, "power not known"
		out.Short = "no figure"
	case row.N == 0:
		out.lost, out.Words = true, unfinished(row)
		out.Short = "no figure"
	case e.Verdict == Unfair:
		out.Short = "unfair"
	case e.Verdict == Refused:
		out.Short = "no statement"
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
	case c.Verdict == Inconclusive:
		c.Short, c.Bounds = "?", strings.TrimSuffix(low, " %")+" to "+high
	default:
		bare := strings.NewReplacer("+", "", " %", "", "x", "")
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
				work = row.Row + " beside " + column
			}
			out := Cost{Case: c.Case, Work: work, Platform: row.Platform, Label: row.Label, Metric: row.Metric, Kept: true,
				Verdict: c.Effect.Verdict, Speed: c.Kept, Low: c.Low, High: c.High, Words: c.Words, effect: c.Effect, cell: c, lost: c.N == 0 && c.Launches > 0}
			out.Short = c.Words
			if c.High > 0 {
				out.Bounds = fmt.Sprintf("%.0f to %.0f", 100*c.Low, 100*c.High)
			}
			if c.Effect.Verdict == Inconclusive {
				out.Short, out.Bounds = "?", out.Bounds+" %"
			}
			if c.Besides {
				out.Work = c.Case + " against " + row.Case
			}
			all = append(all, out)
		}
	}
	return all
}

const (
	// fewPlatforms have a sentence each; of more there is one for each kind of work.
	fewPlatforms = 5
	// mostSentences is how many there are at the most, the last of which says what is left out.
	mostSentences = 6
	// telling is the widest bound of an undecided change that is worth a sentence, as a factor.
	telling = 1.15
)

// sentences say the costs: what neighbours do, then of few platforms one each, of many one for each kind
// of work, and last what the reader set against each other.
func sentences(costs []Cost, r *Result) []string {
	var kept, own, besides []Cost
	for _, c := range costs {
		switch {
		case c.Kept && c.cell.Besides:
			besides = append(besides, c)
		case c.Kept:
			kept = append(kept, c)
		default:
			own = append(own, c)
		}
	}
	return slices.Concat(r.neighbourSentences(kept), ownSentences(own, r), besidesSentences(besides))
}

// besidesSentences say of each case what it is of another on the same platform.
func besidesSentences(costs []Cost) []string {
	var all []string
	for _, g := range groups(costs, func(c Cost) string { return c.Work }) {
		var known, open []string
		for _, c := range g {
			switch {
			case c.High == 0:
				open = append(open, c.Name()+" ("+c.Words+")")
			case c.Verdict == Differs, c.Verdict == Equivalent:
				known = append(known, left([]Cost{c}, "on "+c.Name()))
			default:
				open = append(open, fmt.Sprintf("%s (%.0f to %.0f %%)", c.Name(), 100*c.Low, 100*c.High))
			}
		}
		var parts []string
		if len(known) > 0 {
			parts = append(parts, listing(known))
		}
		if len(open) > 0 {
			parts = append(parts, "not known on "+listing(open))
		}
		all = append(all, g[0].Work+": "+strings.Join(parts, "; ")+".")
	}
	return all
}

func ownSentences(costs []Cost, r *Result) []string {
	platforms, works := groups(costs, Cost.Name), groups(costs, func(c Cost) string { return c.Work })
	var all []string
	if len(platforms) <= fewPlatforms {
		for _, g := range platforms {
			all = append(all, of(g[0].Name(), g, func(c Cost) string { return c.Work }, "to", r))
		}
	} else {
		// What is emulated is in the table, and no finding.
		if real := slices.DeleteFunc(slices.Clone(costs), func(c Cost) bool { return c.Label != "" }); len(real) > 0 {
			works = groups(real, func(c Cost) string { return c.Work })
		}
		slices.SortStableFunc(works, func(a, b []Cost) int { return cmp.Compare(worst(a), worst(b)) })
		for _, g := range works {
			all = append(all, of(capital(g[0].Work), g, Cost.listed, "on", r))
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	if len(all) > mostSentences {
		left := len(all) - mostSentences + 1
		all = append(all[:mostSentences-1], fmt.Sprintf("%s are in the table.", figure.Count(left, "further kind")+" of work"))
		if left == 1 {
			all[mostSentences-1] = "1 further kind of work is in the table."
		}
	}
	return all
}

// worst is the least speed that is known among costs.
func worst(costs []Cost) float64 {
	least := math.Inf(1)
	for _, c := range costs {
		if c.Speed > 0 && c.Verdict == Differs {
			least = min(least, c.Speed)
		}
	}
	return least
}

// groups are the costs by a name, in the order in which the names come.
func groups(costs []Cost, name func(Cost) string) [][]Cost {
	var all [][]Cost
	at := map[string]int{}
	for _, c := range costs {
		i, ok := at[name(c)]
		if !ok {
			i = len(all)
			at[name(c)] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], c)
	}
	return all
}

// of says the costs of one platform, or of one kind of work, in a sentence: what is the same first,
// then what costs, the worst first, then gains, and last what is open; "" where all is still to come.
// Something is added to a kind of work, and on a platform.
func of(subject string, costs []Cost, name func(Cost) string, added string, r *Result) string {
	costs = slices.Clone(costs)
	slices.SortStableFunc(costs, func(a, b Cost) int { return cmp.Compare(a.Speed, b.Speed) })
	metric := commonName(costs)
	bare := func(words string) string { return strings.ReplaceAll(words, metric, "") }
	var same, costing, gaining, open, ahead, reasons []string
	without := map[string][]string{} // by reason
	lacks := func(why, name string) {
		if without[why] == nil {
			reasons = append(reasons, why)
		}
		without[why] = append(without[why], name)
	}
	var adding, bounded []Cost
	var unknown []string // the names of what is open
	for _, c := range costs {
		n := name(c)
		switch {
		case c.ahead:
			ahead = append(ahead, n)
		case c.lost:
			lacks(c.Words, n)
		case c.Verdict == Unfair:
			lacks("unfair: "+cmp.Or(c.effect.Audit.Mark(), c.effect.Unfair), n)
		case c.Verdict == Refused:
			lacks(cmp.Or(c.effect.Unfair, c.effect.Why), n)
		case c.Verdict == Equivalent:
			same = append(same, n)
		case c.Verdict == Differs && c.Added != nil && c.Added.Mean > 0:
			adding = append(adding, c)
		case c.Verdict == Differs && c.Added != nil:
			gaining = append(gaining, c.effect.size(c.Metric)+" on "+n)
		case c.Verdict == Differs && c.Speed < 1:
			costing = append(costing, bare(c.effect.size(c.Metric))+" on "+n)
		case c.Verdict == Differs:
			gaining = append(gaining, bare(c.effect.size(c.Metric))+" on "+n)
		case c.effect.Waiting > 0:
			lacks(c.effect.open(c.Metric, r.Margin), n)
		case c.Low > 1/telling && c.High < telling && c.Added == nil:
			bounded = append(bounded, c)
		default:
			unknown = append(unknown, n)
			open = append(open, n+" ("+bare(c.effect.bound(c.Metric, r.Margin))+")")
		}
	}
	var parts []string
	add := func(lead string, what []string) {
		if len(what) > 0 {
			parts = append(parts, lead+listing(what))
		}
	}
	if n := len(same); n > mostNamed && n == len(costs) {
		same = []string{"all"}
	}
	add("no difference within "+trim(100*r.Margin)+" % on ", same)
	add("", costing)
	add("adds ", additions(adding, func(c Cost) string { return added + " " + name(c) }))
	add("", gaining)
	if len(bounded) == 1 {
		parts = append(parts, bare(bounded[0].effect.bound(bounded[0].Metric, r.Margin))+" on "+name(bounded[0]))
	} else if len(bounded) > 1 {
		parts = append(parts, together(bounded, name))
	}
	if len(open) > 2 { // the table has their bounds
		open = unknown
	}
	add("not known: ", open)
	for i, why := range reasons {
		reasons[i] = listing(without[why]) + " (" + why + ")"
	}
	add("no figure for ", reasons)
	if len(parts) == 0 {
		return ""
	}
	add("not measured yet: ", ahead)
	if metric != "" {
		subject += ", " + strings.TrimSpace(metric)
	}
	return subject + ": " + strings.Join(parts, "; ") + "."
}

// additions say what each adds: of many to the same work the least and the most.
func additions(costs []Cost, where func(Cost) string) []string {
	say := func(c Cost) string {
		return fmt.Sprintf("%s %s (%s to %s)", strings.TrimPrefix(signed(c.Added.Mean, c.Metric.Unit), "+"), where(c), amount(c.Added.Low), amount(c.Added.High))
	}
	if n := len(costs); n > mostNamed+1 && len(groups(costs, func(c Cost) string { return c.Work })) == 1 {
		costs = slices.SortedStableFunc(slices.Values(costs), func(a, b Cost) int { return cmp.Compare(a.Added.Mean, b.Added.Mean) })
		return []string{say(costs[0]) + " at the least", say(costs[n-1]) + " at the most", fmt.Sprintf("between them on %d more", n-2)}
	}
	var all []string
	for _, c := range costs {
		all = append(all, say(c))
	}
	return all
}

// commonName is what words say of the metric that all costs share, with a blank; "" where there are
// several, or it needs no word.
func commonName(costs []Cost) string {
	for _, c := range costs {
		if c.Added != nil || named(c.Metric) != named(costs[0].Metric) {
			return ""
		}
	}
	return named(costs[0].Metric)
}

// together says of undecided costs within what all of them lie, whichever way.
func together(costs []Cost, name func(Cost) string) string {
	most := 0.0
	var names []string
	for _, c := range costs {
		slow, fast := 1-c.Low, c.High-1
		if c.Metric.Better == bench.LowerIsBetter {
			slow, fast = 1/c.Low-1, 1-1/c.High
		}
		most = max(most, slow, fast)
		names = append(names, name(c))
	}
	return fmt.Sprintf("undecided, but within ±%s %% on %s", trim(100*most), listing(names))
}

// mostNamed is how many of a kind a sentence names; of more it counts the rest.
const mostNamed = 3

// listing joins words as a sentence does.
func listing(words []string) string {
	if left := len(words) - mostNamed; left > 1 {
		words = append(slices.Clone(words[:mostNamed]), fmt.Sprintf("%d more", left))
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
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
	if c := r.Controls; c != nil && c.Hold < c.Of {
		add(fmt.Sprintf("%s differs from itself in %d of %s: chance, or a bias that the audit cannot see", c.Baseline, c.Of-c.Hold, figure.Count(c.Of, "comparison")))
	}
	for _, w := range r.Warnings {
		add(w)
	}
	for _, f := range r.HostFacts {
		add(f.Caveat)
	}
	for _, s := range bench.Together(r.Skipped) {
		add("left out: " + s.Platform + ": " + s.Reason)
	}
	return all
}

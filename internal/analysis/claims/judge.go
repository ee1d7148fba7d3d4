package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/papers"
	"tare/internal/result"
)

// judge judges the claims of one exhibit.
type judge struct {
	paper   *papers.Paper
	exhibit *papers.Exhibit
	runs    Measured
}

// asked is a combination of platforms and cases that a claim is about.
type asked struct {
	run         *Run
	of, to      string // our platforms; to is "" without
	in, against *result.Case
	along       []*result.Case // of a slope, in place of in
}

func (a asked) what() string {
	text := a.of
	if a.to != "" {
		text += " / " + a.to
	}
	switch {
	case a.in != nil:
		text += " in " + a.in.Name
	case len(a.along) > 0:
		scene, _, _ := strings.Cut(a.along[0].Name, "[")
		text += " in " + scene
	}
	if a.against != nil {
		text += " / " + a.against.Name
	}
	return text
}

// claim judges one claim.
func (j *judge) claim(c *papers.Claim) (Finding, error) {
	f := Finding{Says: c.Says, Test: c.Test(), Published: c.Size, Void: c.Void}
	if c.None != "" {
		f.Verdict, f.Why = NotAsked, "no test: "+c.None
		return f, nil
	}
	all, why := j.combinations(c)
	var blocked []string
	for _, a := range all {
		part, err := j.part(c, a)
		if err != nil {
			return f, err
		}
		if part.Verdict == NotAsked && !slices.Contains(blocked, part.Why) {
			blocked = append(blocked, part.Why)
		}
		f.Parts = append(f.Parts, part)
	}
	parts := f.Parts
	if c.For == papers.ForMean {
		mean, err := j.mean(c, all)
		if err != nil {
			return f, err
		}
		f.Parts, parts = append(f.Parts, mean), []Part{mean}
	}
	j.conclude(c, &f, slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Verdict == NotAsked }))
	if f.Verdict == NotAsked || len(why) > 0 || len(blocked) > 0 {
		reasons := slices.Concat(why, blocked)
		if f.Why != "" {
			reasons = append([]string{f.Why}, reasons...)
		}
		f.Why = strings.Join(reasons, "; ")
	}
	return f, nil
}

// combinations are those that were measured, and why others were not.
func (j *judge) combinations(c *papers.Claim) (all []asked, why []string) {
	miss := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	for i, name := range c.In {
		against := ""
		if len(c.Against) > 0 {
			against = c.Against[min(i, len(c.Against)-1)]
		}
		run, name, cases := j.find(name)
		if run == nil {
			miss("%s was not measured", name)
			continue
		}
		for _, pair := range c.Pairs(j.exhibit.Platforms) {
			a := asked{run: run}
			ok := true
			for k, into := range []*string{&a.of, &a.to} {
				if pair[k] == "" {
					continue
				}
				ref, label, found := run.platform(j.paper.Ours(j.exhibit, pair[k]))
				switch {
				case !found:
					miss("%s was not measured", pair[k])
					ok = false
				case emulated(label):
					miss("%s is emulated here", ref)
					ok = false
				}
				*into = ref
			}
			if !ok {
				continue
			}
			if c.Slope() {
				for _, group := range alongFactor(cases, c.Along) {
					b := a
					b.along = group
					all = append(all, b)
				}
				continue
			}
			if c.Metric == papers.Knee || c.Metric == papers.Peak {
				cases = cases[:1] // they are of the scene's whole curve
			}
			for _, in := range cases {
				b := a
				b.in = in
				if against != "" {
					_, _, others := j.find(against)
					if b.against = pick(in, others); b.against == nil {
						miss("%s was not measured", c.Against[min(i, len(c.Against)-1)])
						continue
					}
				}
				all = append(all, b)
			}
		}
	}
	return all, why
}

// find finds the cases of a name among the runs of the exhibit's experiments: a scene, a case, or
// either after an experiment and a colon.
func (j *judge) find(name string) (*Run, string, []*result.Case) {
	experiments := j.exhibit.Experiments()
	if experiment, rest, ok := strings.Cut(name, ":"); ok {
		experiments, name = []string{experiment}, rest
	}
	for _, e := range experiments {
		for _, run := range j.runs[e] {
			if cases := run.cases(name); len(cases) > 0 {
				return run, name, cases
			}
		}
	}
	return nil, name, nil
}

// pick is the one of the cases with the levels of c, or the only one.
func pick(c *result.Case, among []*result.Case) *result.Case {
	if len(among) == 1 {
		return among[0]
	}
	_, levels, _ := strings.Cut(c.Name, "[")
	for _, o := range among {
		if _, have, _ := strings.Cut(o.Name, "["); have == levels {
			return o
		}
	}
	return nil
}

// alongFactor groups cases that differ in the factor alone.
func alongFactor(cases []*result.Case, factor string) (groups [][]*result.Case) {
	at := map[string]int{}
	for _, c := range cases {
		if _, ok := c.Factors[factor]; !ok {
			continue
		}
		key, _, _ := strings.Cut(c.Name, "[")
		var names []string
		for name := range c.Factors {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if name != factor {
				key += "," + name + "=" + c.Factors[name]
			}
		}
		if i, ok := at[key]; ok {
			groups[i] = append(groups[i], c)
			continue
		}
		at[key] = len(groups)
		groups = append(groups, []*result.Case{c})
	}
	return groups
}

// part judges one combination.
func (j *judge) part(c *papers.Claim, a asked) (Part, error) {
	p := Part{What: a.what(), Slope: c.Slope(), Unit: unit(c, a)}
	why, err := j.unfair(c, a)
	if err != nil {
		return p, err
	}
	if why != "" {
		p.Verdict, p.Why = NotAsked, why
		return p, nil
	}
	switch c.Metric {
	case papers.Unfinished:
		j.unfinished(c, a, &p)
		return p, nil
	case papers.Knee, papers.Peak, papers.Apart:
		j.found(c, a, &p)
		return p, nil
	}
	byBlock, caution, why := j.quantity(c, a)
	p.Caution = caution
	if why != "" {
		p.Verdict, p.Why = NotAsked, why
		return p, nil
	}
	j.decide(c, a.run, byBlock, &p)
	return p, nil
}

// unit is that of a value alone; "" of a ratio or a slope.
func unit(c *papers.Claim, a asked) string {
	if a.to != "" || a.against != nil || a.in == nil {
		return ""
	}
	switch c.Metric {
	case papers.Unfinished, papers.Apart:
		return Share
	case papers.Knee, papers.Peak:
		scene, _, _ := strings.Cut(a.in.Name, "[")
		for i := range a.run.Result.Sweeps {
			s := &a.run.Result.Sweeps[i]
			if name, _, _ := strings.Cut(s.Name, "["); name == scene {
				return s.Axis
			}
		}
		return ""
	}
	_, m, _, _ := a.run.values(a.in, a.of, c.Metric)
	return m.Unit
}

// mean judges the geometric mean over all combinations that have values.
func (j *judge) mean(c *papers.Claim, all []asked) (Part, error) {
	p := Part{What: "mean of all", Verdict: NotAsked, Slope: c.Slope()}
	sums, counts, n := map[int]float64{}, map[int]int{}, 0
	var run *Run
	for _, a := range all {
		why, err := j.unfair(c, a)
		if err != nil {
			return p, err
		}
		if why != "" {
			continue
		}
		byBlock, caution, why := j.quantity(c, a)
		if why != "" {
			continue
		}
		run, p.Caution, p.Unit = a.run, cmp.Or(p.Caution, caution), unit(c, a)
		n++
		for block, x := range byBlock {
			sums[block] += x
			counts[block]++
		}
	}
	if n == 0 {
		p.Why = "nothing was measured of which a mean could be taken"
		return p, nil
	}
	logs := map[int]float64{}
	for block, sum := range sums {
		if counts[block] == n {
			logs[block] = sum / float64(n)
		}
	}
	j.decide(c, run, logs, &p)
	return p, nil
}

// unfair says why a combination may not be compared: "" if it may.
func (j *judge) unfair(c *papers.Claim, a asked) (string, error) {
	cases := []*result.Case{a.in, a.against}
	if a.in == nil {
		cases = a.along
	}
	if a.to != "" {
		r, err := a.run.against(a.to)
		if err != nil {
			return "", err
		}
		for _, in := range cases {
			if in == nil {
				continue
			}
			i := slices.IndexFunc(r.Cases, func(o result.Case) bool { return o.Name == in.Name })
			if i < 0 {
				continue
			}
			if x := row(&r.Cases[i], a.of, c.Metric); x != nil && x.Effect != nil && x.Effect.Unfair != "" {
				return "unfair: " + x.Effect.Unfair, nil
			}
		}
		return "", nil
	}
	if m := a.run.Result.Relative; m != nil && a.against != nil {
		for _, r := range m.Rows {
			for _, cell := range r.Cells {
				if cell != nil && r.Platform == a.of && r.Case == a.against.Name && cell.Case == a.in.Name && cell.Effect != nil && cell.Effect.Unfair != "" {
					return "unfair: " + cell.Effect.Unfair, nil
				}
			}
		}
	}
	return "", nil
}

// quantity is the logarithm of what the claim tests, by block; of a slope the slope.
func (j *judge) quantity(c *papers.Claim, a asked) (logs map[int]float64, caution, why string) {
	if a.in != nil {
		return j.ratio(c, a)
	}
	levels := map[int][]float64{}
	values := map[int][]float64{}
	n := 0
	for _, in := range a.along {
		x, ok := bench.LevelNumber(in.Factors[c.Along])
		if !ok || x <= 0 {
			continue
		}
		one := a
		one.in, one.along = in, nil
		at, careful, why := j.ratio(c, one)
		if why != "" {
			return nil, "", why
		}
		n++
		caution = cmp.Or(caution, careful)
		for block, y := range at {
			levels[block], values[block] = append(levels[block], math.Log(x)), append(values[block], y)
		}
	}
	if n < 2 {
		return nil, "", fmt.Sprintf("%s was measured at fewer than two levels of %s", a.what(), c.Along)
	}
	logs = map[int]float64{}
	for block, x := range levels {
		if len(x) != n {
			continue // a level is missing in it
		}
		line, err := stats.FitLine(x, values[block])
		if err != nil {
			return nil, "", err.Error()
		}
		logs[block] = line.Slope
	}
	return logs, caution, ""
}

// ratio is the logarithm of the claim's ratio in one case, by block.
func (j *judge) ratio(c *papers.Claim, a asked) (logs map[int]float64, caution, why string) {
	type term struct {
		platform string
		in       *result.Case
		sign     float64
	}
	terms := []term{{a.of, a.in, 1}}
	if a.to != "" {
		terms = append(terms, term{a.to, a.in, -1})
	}
	if a.against != nil {
		terms = append(terms, term{a.of, a.against, -1})
		if a.to != "" {
			terms = append(terms, term{a.to, a.against, 1})
		}
	}
	sums, counts := map[int]float64{}, map[int]int{}
	for _, t := range terms {
		points, _, careful, why := a.run.values(t.in, t.platform, c.Metric)
		if why != "" {
			return nil, "", why
		}
		caution = cmp.Or(caution, careful)
		for _, p := range points {
			if !(p.Value > 0) {
				return nil, "", fmt.Sprintf("%s has %s in trial %s, of which there is no ratio", t.platform, figure.Number(p.Value), p.Trial)
			}
			sums[p.Block] += t.sign * math.Log(p.Value)
			counts[p.Block]++
		}
	}
	for block := range sums {
		if counts[block] != len(terms) {
			delete(sums, block)
		}
	}
	if len(sums) == 0 {
		return nil, "", fmt.Sprintf("no block has all of %s", a.what())
	}
	return sums, caution, ""
}

// decide fills in a part from the logarithms by block.
func (j *judge) decide(c *papers.Claim, run *Run, logs map[int]float64, p *Part) {
	var ratios []float64
	for _, block := range sortedBlocks(logs) {
		ratios = append(ratios, math.Exp(logs[block]))
	}
	p.N = len(ratios)
	r, err := stats.NewRatios(ratios)
	if err != nil {
		if p.Verdict = Undecided; len(ratios) == 1 {
			p.Q = ratios[0]
		}
		p.holds, p.not = 1, 1
		p.Why = "an interval needs two blocks"
		return
	}
	level := run.confidence()
	i, err := r.Interval(level)
	if err != nil {
		p.Verdict, p.Why = NotAsked, err.Error()
		return
	}
	p.Q, p.Low, p.High = i.Mid, i.Low, i.High
	low, high := c.Bounds(run.Result.Margin)
	// p values are twice the one-sided, so that they agree with the interval, and larger where looks raised
	// its level.
	scale := significance / (1 - level)
	above := func(at float64) float64 {
		if math.Log(i.Mid) <= at {
			return 1
		}
		return min(1, r.Over(math.Exp(at)).P()*scale)
	}
	below := func(at float64) float64 {
		if math.Log(i.Mid) >= at {
			return 1
		}
		return min(1, r.Over(math.Exp(at)).P()*scale)
	}
	p.holds, p.not = between(low, high, above, below)
	p.Verdict = within(math.Log(i.Low), math.Log(i.High), low, high)
	if c.Is == papers.Unequal { // it holds where the interval leaves out what it is set against
		at := math.Log(c.Threshold())
		p.holds, p.not = min(above(at), below(at)), p.holds
		switch equal := p.Verdict == Holds; {
		case i.Low > c.Threshold() || i.High < c.Threshold():
			p.Verdict = Holds
		case equal:
			p.Verdict = DoesNot
		default:
			p.Verdict = Undecided
		}
	}
	if p.Verdict == Undecided {
		p.Needed = needed(ratios, low, high, level)
	}
	if low, high, ok := c.SizeBounds(run.Result.Margin); ok {
		p.Size = within(math.Log(i.Low), math.Log(i.High), low, high)
	}
}

// within is the verdict of an interval on bounds.
func within(low, high, least, most float64) Verdict {
	switch {
	case low > least && high < most:
		return Holds
	case high < least || low > most:
		return DoesNot
	}
	return Undecided
}

// needed is how many blocks would decide, if mean and scatter stay as they are; 0 if that is not known.
func needed(ratios []float64, low, high, level float64) int {
	least := 0
	for _, bound := range []float64{low, high} {
		if math.IsInf(bound, 0) {
			continue
		}
		scaled := make([]float64, len(ratios))
		for i, q := range ratios {
			scaled[i] = q / math.Exp(bound)
		}
		s, err := stats.ScatterOf(scaled)
		if err != nil || s.SD == 0 {
			continue
		}
		if n := s.ToDiffer(level).AtLeast(len(ratios) + 1).N; n > least {
			least = n
		}
	}
	return least
}

// unfinished judges the share of launches that did not finish.
func (j *judge) unfinished(c *papers.Claim, a asked, p *Part) {
	var k, n, overdue int
	for i := range a.in.Rows {
		if r := &a.in.Rows[i]; r.Platform == a.of {
			k, n, overdue = r.DNF, r.DNF+r.N, r.Overdue
			break
		}
	}
	switch {
	case overdue > 0:
		p.Verdict, p.Why = NotAsked, fmt.Sprintf("void: the containment ended %s", figure.Count(overdue, "launch"))
	case n == 0:
		p.Verdict, p.Why = NotAsked, "no launch came to an end"
	default:
		low, high := stats.Binomial(k, n, 1-significance)
		p.Q, p.Low, p.High, p.N = float64(k)/float64(n), low, high, n
		least, most := c.Bounds(0)
		p.Verdict = within(logOf(low), logOf(high), least, most)
		p.holds, p.not = p.pOf(least, most, 1-significance)
	}
}

// pOf are the p values of what has an interval alone, as if its logarithm were normal.
func (p *Part) pOf(low, high, level float64) (holds, not float64) {
	least, most := logOf(p.Low), logOf(p.High)
	mid := (least + most) / 2
	se := (most - least) / 2 / stats.NormalQuantile(1-(1-level)/2)
	beyond := func(by float64) float64 {
		switch {
		case by <= 0:
			return 1
		case se == 0:
			return 0
		}
		return stats.NormalTail(by/se) * 2
	}
	return between(low, high, func(at float64) float64 { return beyond(mid - at) }, func(at float64) float64 { return beyond(at - mid) })
}

// between are the p values for lying between bounds of a logarithm and for lying beyond one of them, by
// those for lying above and below a value.
func between(low, high float64, above, below func(at float64) float64) (in, out float64) {
	out = 1
	if !math.IsInf(low, -1) {
		in, out = max(in, above(low)), min(out, below(low))
	}
	if !math.IsInf(high, 1) {
		in, out = max(in, below(high)), min(out, above(high))
	}
	return in, out
}

// logOf is the logarithm of a share or a level that may be 0.
func logOf(v float64) float64 { return math.Log(max(v, 1e-9)) }

// found judges what a run finds over its blocks as a whole: a knee, a peak, how far alike subjects
// are apart.
func (j *judge) found(c *papers.Claim, a asked, p *Part) {
	of, why := j.whole(c, a.of, a)
	if why != "" {
		p.Verdict, p.Why = NotAsked, why
		return
	}
	p.Q, p.Low, p.High = of.Mid, of.Low, of.High
	if a.to != "" {
		to, why := j.whole(c, a.to, a)
		if why != "" {
			p.Verdict, p.Why = NotAsked, why
			return
		}
		// Bounds of a ratio by those of its sides are on the safe side.
		p.Q, p.Low, p.High = of.Mid/to.Mid, of.Low/to.High, of.High/to.Low
	}
	low, high := c.Bounds(a.run.Result.Margin)
	p.Verdict = within(logOf(p.Low), logOf(p.High), low, high)
	p.holds, p.not = p.pOf(low, high, a.run.confidence())
	if low, high, ok := c.SizeBounds(a.run.Result.Margin); ok {
		p.Size = within(logOf(p.Low), logOf(p.High), low, high)
	}
}

func (j *judge) whole(c *papers.Claim, platform string, a asked) (stats.Interval, string) {
	if c.Metric == papers.Apart {
		for i := range a.in.Rows {
			if r := &a.in.Rows[i]; r.Platform == platform && r.Fairness != nil && r.Fairness.Why == "" {
				return stats.Interval{Mid: r.Fairness.Apart.Mean, Low: r.Fairness.Apart.Low, High: r.Fairness.Apart.High}, ""
			}
		}
		return stats.Interval{}, fmt.Sprintf("%s has no alike subjects in %s", platform, a.in.Name)
	}
	scene, _, _ := strings.Cut(a.in.Name, "[")
	for i := range a.run.Result.Sweeps {
		s := &a.run.Result.Sweeps[i]
		if name, _, _ := strings.Cut(s.Name, "["); name != scene {
			continue
		}
		for _, l := range s.Lines {
			switch {
			case l.Platform != platform:
			case c.Metric == papers.Knee && l.Knee != nil:
				return stats.Interval{Mid: l.Knee.At, Low: l.Knee.Low, High: l.Knee.High}, ""
			case c.Metric == papers.Peak && l.Peak != nil:
				return stats.Interval{Mid: l.Peak.At, Low: l.Peak.Low, High: l.Peak.High}, ""
			}
		}
	}
	return stats.Interval{}, fmt.Sprintf("%s has no %s in %s", platform, c.Metric, scene)
}

// conclude draws the claim's verdict from its parts that were asked.
func (j *judge) conclude(c *papers.Claim, f *Finding, parts []Part) {
	if len(parts) == 0 {
		f.Verdict = NotAsked
		return
	}
	count := map[Verdict]int{}
	sizes := map[Verdict]int{}
	holds, not := 0.0, 1.0
	for _, p := range parts {
		count[p.Verdict]++
		if p.Size != "" && (c.For != papers.ForAny || p.Verdict == Holds) {
			sizes[p.Size]++
		}
		f.Needed = max(f.Needed, p.Needed)
		holds, not = max(holds, p.holds), min(not, p.not)
	}
	n := float64(len(parts))
	not = min(1, n*not) // that one of so many is elsewhere
	f.Verdict = overall(count, len(parts))
	if c.For == papers.ForAny {
		holds, not = 1, 0
		for _, p := range parts {
			holds, not = min(holds, p.holds), max(not, p.not)
		}
		holds = min(1, n*holds)
		switch {
		case count[Holds] > 0:
			f.Verdict = Holds
		case count[DoesNot] == len(parts):
			f.Verdict = DoesNot
		default:
			f.Verdict = Undecided
		}
	}
	if len(sizes) > 0 {
		f.Size = overall(sizes, sizes[Holds]+sizes[DoesNot]+sizes[Undecided])
	}
	p := min(holds, not)
	f.P = &p
	if f.Verdict != Undecided {
		f.Needed = 0
		return
	}
	switch {
	case f.Needed > stats.MostNeeded:
		f.Why = fmt.Sprintf("more than %s would be needed: it can't be decided on this host", figure.Count(stats.MostNeeded, "block"))
	case f.Needed > 0:
		f.Why = fmt.Sprintf("about %s would decide in %.0f %% of runs", figure.Count(f.Needed, "block"), 100*stats.Power)
	default:
		f.Why = "more blocks or a quieter host may decide"
	}
}

// overall is the verdict of all parts together.
func overall(count map[Verdict]int, n int) Verdict {
	switch {
	case count[Holds] == n:
		return Holds
	case count[DoesNot] > 0:
		return DoesNot
	}
	return Undecided
}

func sortedBlocks(m map[int]float64) []int {
	blocks := make([]int, 0, len(m))
	for b := range m {
		blocks = append(blocks, b)
	}
	slices.Sort(blocks)
	return blocks
}

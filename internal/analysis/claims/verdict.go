package claims

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/papers"
)

// decide fills in a part from the logarithms by block.
func (p *Part) decide(c *papers.Claim, run *Run, logs map[int]float64) {
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
func (p *Part) unfinished(c *papers.Claim, a asked) {
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

// found judges what a run finds over its blocks as a whole: a knee, a peak, how far alike subjects
// are apart.
func (p *Part) found(c *papers.Claim, a asked) {
	of, why := a.whole(c, a.of)
	if why != "" {
		p.Verdict, p.Why = NotAsked, why
		return
	}
	p.Q, p.Low, p.High = of.Mid, of.Low, of.High
	if a.to != "" {
		to, why := a.whole(c, a.to)
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

// whole is what the run found of a platform, with its interval; why says the reason where it found nothing.
func (a asked) whole(c *papers.Claim, platform string) (i stats.Interval, why string) {
	if c.Metric == papers.Apart || c.Metric == papers.CPUApart {
		for i := range a.in.Rows {
			r := &a.in.Rows[i]
			cpu := r.Metric.Name == bench.UsageMetrics[0].Name
			if r.Platform == platform && cpu == (c.Metric == papers.CPUApart) && r.Fairness != nil && r.Fairness.Why == "" {
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

// conclude draws the claim's verdict from its parts that were asked.
func (f *Finding) conclude(c *papers.Claim, parts []Part) {
	if len(parts) == 0 {
		f.Verdict = NotAsked
		return
	}
	count := map[Verdict]int{}
	sizes := map[Verdict]int{}
	holds, not := 0.0, 1.0
	for _, p := range parts {
		count[p.Verdict]++
		if p.Size != "" && c.For != papers.ForAny {
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
	if most := largest(c, parts); c.For == papers.ForAny && most != nil {
		f.Size = most.Size // "up to": what is published is the largest of them
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

// largest is the part with the largest effect to the side where the claim has it; nil if none holds.
func largest(c *papers.Claim, parts []Part) (most *Part) {
	for i := range parts {
		p := &parts[i]
		if p.Verdict != Holds || p.Size == "" {
			continue
		}
		if most == nil || c.Is == papers.Above && p.Q > most.Q || c.Is == papers.Below && p.Q < most.Q {
			most = p
		}
	}
	return most
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

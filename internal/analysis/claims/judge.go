package claims

import (
	"cmp"
	"slices"
	"strings"

	"tare/internal/papers"
)

// judge judges the claims of one exhibit.
type judge struct {
	paper   *papers.Paper
	exhibit *papers.Exhibit
	runs    Measured
}

// claim judges one claim.
func (j *judge) claim(c *papers.Claim) (Finding, error) {
	f := Finding{Says: c.Says, Test: c.Test(), Published: c.Size, But: c.But}
	if c.None != "" {
		f.Verdict, f.Why = NotAsked, "no test: "+c.None
		return f, nil
	}
	if c.Void != "" {
		f.Verdict, f.Why = NotAsked, "void: "+c.Void
		return f, nil
	}
	all, why := j.combinations(c)
	var blocked []string
	for _, a := range all {
		p, err := part(c, a)
		if err != nil {
			return f, err
		}
		if p.Verdict == NotAsked && !slices.Contains(blocked, p.Why) {
			blocked = append(blocked, p.Why)
		}
		f.Parts = append(f.Parts, p)
	}
	parts := f.Parts
	if c.For == papers.ForMean {
		whole, err := mean(c, all)
		if err != nil {
			return f, err
		}
		f.Parts, parts = append(f.Parts, whole), []Part{whole}
	}
	f.conclude(c, slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Verdict == NotAsked }))
	if f.Verdict == NotAsked || len(why) > 0 || len(blocked) > 0 {
		reasons := slices.Concat(why, blocked)
		if f.Why != "" {
			reasons = append([]string{f.Why}, reasons...)
		}
		f.Why = strings.Join(reasons, "; ")
	}
	return f, nil
}

// part judges one combination.
func part(c *papers.Claim, a asked) (Part, error) {
	p := Part{What: a.what(), Slope: c.Slope(), Unit: a.unit(c)}
	why, err := a.unfair()
	if err != nil {
		return p, err
	}
	if why != "" {
		p.Verdict, p.Why = NotAsked, why
		return p, nil
	}
	switch c.Metric {
	case papers.Unfinished:
		p.unfinished(c, a)
		return p, nil
	case papers.Knee, papers.Peak, papers.Apart, papers.CPUApart:
		p.found(c, a)
		return p, nil
	}
	byBlock, caution, why := a.quantity(c)
	p.Caution = caution
	if why != "" {
		p.Verdict, p.Why = NotAsked, why
		return p, nil
	}
	p.decide(c, a.run, byBlock)
	return p, nil
}

// unit is that of a value alone; "" of a ratio or a slope.
func (a asked) unit(c *papers.Claim) string {
	if a.to != "" || a.against != nil || a.in == nil {
		return ""
	}
	switch c.Metric {
	case papers.Unfinished, papers.Apart, papers.CPUApart:
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
func mean(c *papers.Claim, all []asked) (Part, error) {
	p := Part{What: "mean of all", Verdict: NotAsked, Slope: c.Slope()}
	sums, counts, n := map[int]float64{}, map[int]int{}, 0
	var run *Run
	for _, a := range all {
		why, err := a.unfair()
		if err != nil {
			return p, err
		}
		if why != "" {
			continue
		}
		byBlock, caution, why := a.quantity(c)
		if why != "" {
			continue
		}
		run, p.Caution, p.Unit = a.run, cmp.Or(p.Caution, caution), a.unit(c)
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
	p.decide(c, run, logs)
	return p, nil
}

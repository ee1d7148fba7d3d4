package claims

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/papers"
	"tare/internal/result"
)

// asked is a combination of platforms and cases that a claim is about.
type asked struct {
	run         *Run
	of, to      string // our platforms; to is "" without
	in, against *result.Case
	along       []*result.Case // of a slope, in place of in
	factor      string         // that they are along
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
		run, cases, others := j.find(name, against)
		switch {
		case run == nil:
			miss("%s was not measured", name)
			continue
		case against != "" && others == nil:
			miss("%s was not measured in the run of %s, and blocks of two runs do not pair", against, name)
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
				for _, factor := range c.Along {
					for _, group := range alongFactor(cases, factor) {
						b := a
						b.along, b.factor = group, factor
						all = append(all, b)
					}
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
					if b.against = pick(in, others); b.against == nil {
						miss("%s was not measured with the levels of %s", against, in.Name)
						continue
					}
				}
				all = append(all, b)
			}
		}
	}
	return all, why
}

// find finds the cases of a name, and those that they are set against in the same run: scenes, cases, or
// either after an experiment and a colon. A run that has both comes first.
func (j *judge) find(name, against string) (run *Run, cases, others []*result.Case) {
	experiments := j.exhibit.Experiments()
	if experiment, _, ok := strings.Cut(name, ":"); ok {
		experiments = []string{experiment}
	}
	for _, e := range experiments {
		for _, r := range j.runs[e] {
			found := r.of(e, name)
			if len(found) == 0 {
				continue
			}
			if o := r.of(e, against); run == nil || others == nil && len(o) > 0 {
				run, cases, others = r, found, o
			}
		}
	}
	return run, cases, others
}

// of are the cases of a name in the run, which is one of the experiment; none of another's.
func (r *Run) of(experiment, name string) []*result.Case {
	if of, rest, ok := strings.Cut(name, ":"); ok {
		if of != experiment {
			return nil
		}
		name = rest
	}
	return r.cases(name)
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

// unfair says why a combination may not be compared: "" if it may.
func (a asked) unfair() (string, error) {
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
			for _, x := range r.Cases[i].Rows { // the audit is of the pair, whatever the metric
				if x.Platform == a.of && x.Effect != nil && x.Effect.Unfair != "" {
					return "unfair: " + x.Effect.Unfair, nil
				}
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

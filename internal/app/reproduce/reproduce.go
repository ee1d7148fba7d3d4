// Package reproduce works out which experiments show the exhibits of papers on this host, and gathers
// the runs that claims are judged by.
package reproduce

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/claims"
	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/papers"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/spec"
	"tare/internal/spec/builtin"
)

// Ask is what is to be reproduced.
type Ask struct {
	Papers []Chosen
	// As are platforms of this host for those of the papers, in the place of the papers' own.
	As map[string]string
	// Platforms of ours are those to measure, besides a baseline, one without options for all of its
	// variants; nil for all of the papers' that there are.
	Platforms []string
	Set       []string // values of the specifications to replace
	Meters    []string
	Budget    time.Duration // for all of it; 0 for what the experiments take
}

// Chosen are exhibits of a paper; all of it if none is named.
type Chosen struct {
	*papers.Paper
	Exhibits []string
}

// has says whether an exhibit is among them.
func (c *Chosen) has(x *papers.Exhibit) bool {
	return len(c.Exhibits) == 0 || slices.Contains(c.Exhibits, x.ID)
}

// Part is the run of an experiment that shows exhibits: those of its cases that they need, on those of
// their platforms that this host has.
type Part struct {
	Experiment string   `json:"experiment"`
	Exhibits   []string `json:"exhibits"` // "tesfatsion2018 fig13a"
	Cases      []string `json:"cases"`
	Platforms  []string `json:"platforms"`
	// Estimate is how long it takes at most, and Least if every platform ends at the first look;
	// seconds.
	Estimate float64 `json:"estimate_s"`
	Least    float64 `json:"least_s"`
	// Why it cannot be run here; "" if it can.
	Why string `json:"why,omitempty"`

	budget time.Duration
	ask    *Ask
	scenes []sceneOf
	// alone are platforms that a claim sets against nothing but themselves, in another case.
	alone []string
}

// sceneOf is a scene with a list of platforms of its own, and those on which exhibits need it.
type sceneOf struct {
	name      string
	platforms []string
}

// Host is what this host has to reproduce with.
type Host struct {
	planning.Catalog
	facts       *host.Facts
	found       []planning.Checked
	words       spec.Vocabulary
	experiments papers.Experiments
}

// NewHost checks which platforms there are.
func NewHost(ctx context.Context, c planning.Catalog) (*Host, error) {
	facts, err := host.Read("/", c.Dir)
	if err != nil {
		return nil, err
	}
	words := c.Words()
	return &Host{Catalog: c, facts: facts, found: c.Check(ctx, planning.Patience), words: words, experiments: Experiments(words)}, nil
}

// Experiments reads the built-in ones, each once.
func Experiments(words spec.Vocabulary) papers.Experiments {
	read := map[string]*spec.Experiment{}
	return papers.Experiments{Words: words, Find: func(name string) (*spec.Experiment, error) {
		if e := read[name]; e != nil {
			return e, nil
		}
		text, err := builtin.Find(name)
		if err != nil {
			return nil, err
		}
		e, err := spec.Parse(name+".yaml", text, nil, words)
		if err != nil {
			return nil, err
		}
		read[name] = e
		return e, nil
	}}
}

// Platform is ours for one of the paper's in an exhibit: the nearest that this host has. Without one,
// why says what the nearest lacks.
func (h *Host) Platform(p *papers.Paper, x *papers.Exhibit, name string, as map[string]string) (ref, why string) {
	refs := p.Ours(x, name)
	if own, ok := as[name]; ok {
		refs = []string{own}
	}
	if len(refs) == 0 {
		return "", "no platform of this program is like it"
	}
	for i, text := range refs {
		r, err := h.words.Ref(text)
		if err != nil {
			return "", err.Error()
		}
		at := slices.IndexFunc(h.found, func(c planning.Checked) bool { return c.Name() == r.Driver() })
		switch {
		case at >= 0 && h.found[at].Err == nil:
			return r.String(), ""
		case at >= 0 && i == 0:
			why = h.found[at].Reason()
		}
	}
	if why == "" {
		why = "no driver of it"
	}
	return "", why
}

// Parts are the runs that show what is asked for, by experiment in the order in which the exhibits
// name them.
func (h *Host) Parts(ask *Ask) []*Part {
	var parts []*Part
	of := map[string]*Part{}
	for _, c := range ask.Papers {
		for i := range c.Paper.Exhibits {
			x := &c.Paper.Exhibits[i]
			if !c.has(x) {
				continue
			}
			for _, name := range x.Experiments() {
				e, err := h.experiments.Find(name)
				if err != nil {
					continue // the exhibit's state says so
				}
				p := of[name]
				if p == nil {
					p = &Part{Experiment: name, ask: ask}
					of[name], parts = p, append(parts, p)
				}
				p.Exhibits = append(p.Exhibits, c.Paper.ID+" "+x.ID)
				p.take(h, e, c.Paper, x)
			}
		}
	}
	for _, p := range parts {
		h.estimate(p)
	}
	share(parts, ask.Budget)
	return parts
}

// take adds the cases and platforms of an exhibit.
func (p *Part) take(h *Host, e *spec.Experiment, of *papers.Paper, x *papers.Exhibit) {
	add := func(to *[]string, word string) {
		if !slices.Contains(*to, word) {
			*to = append(*to, word)
		}
	}
	names := x.Cases(p.Experiment)
	for _, c := range x.Claims {
		for _, name := range slices.Concat(c.In, c.Against) {
			experiment, rest, ok := strings.Cut(name, ":")
			switch {
			case !ok:
				names = append(names, name)
			case experiment == p.Experiment:
				names = append(names, rest)
			}
		}
	}
	platforms := []string{e.Baseline.String()}
	for _, name := range x.Platforms {
		if ref, _ := h.Platform(of, x, name, p.ask.As); ref != "" && p.ask.takes(h.words, ref) {
			add(&platforms, ref)
			if slices.ContainsFunc(x.Claims, func(c papers.Claim) bool { return c.OfItself(name) }) {
				add(&p.alone, ref)
			}
		}
	}
	for _, ref := range platforms {
		add(&p.Platforms, ref)
	}
	for i := range e.Scenes {
		s := &e.Scenes[i]
		if !slices.ContainsFunc(names, s.Called) {
			continue
		}
		if _, own := s.Places["platforms"]; own {
			at := slices.IndexFunc(p.scenes, func(o sceneOf) bool { return o.name == s.Name })
			if at < 0 {
				at, p.scenes = len(p.scenes), append(p.scenes, sceneOf{name: s.Name})
			}
			for _, ref := range platforms {
				add(&p.scenes[at].platforms, ref)
			}
		}
		if slices.Contains(p.Cases, s.Name) {
			continue
		}
		word := s.Name
		if !slices.Contains(names, s.Name) {
			word = s.Case()
		}
		add(&p.Cases, word)
	}
}

// takes says whether a platform of ours is among those to measure.
func (a *Ask) takes(words spec.Vocabulary, ref string) bool {
	r, err := words.Ref(ref)
	return a.Platforms == nil || slices.Contains(a.Platforms, ref) || err == nil && slices.Contains(a.Platforms, r.Driver())
}

// Request is what is to be planned.
func (p *Part) Request() *planning.Request {
	r := &planning.Request{Name: p.Experiment, Set: append(slices.Clone(p.ask.Set), planning.SetCases(p.Cases)), Meters: p.ask.Meters}
	r.Set = append(r.Set, planning.SetPlatforms(p.Platforms))
	for _, s := range p.scenes {
		r.Set = append(r.Set, "scenes."+s.name+"."+planning.SetPlatforms(s.platforms))
	}
	if p.budget > 0 {
		r.Set = append(r.Set, "budget="+p.budget.String())
	}
	return r
}

// estimate plans the part.
func (h *Host) estimate(p *Part) {
	if len(p.Cases) == 0 {
		p.Why = "the experiment has none of the cases"
		return
	}
	if len(p.Platforms) == 1 && !slices.Contains(p.alone, p.Platforms[0]) {
		p.Why = "nothing could be set beside " + p.Platforms[0]
		return
	}
	planned, err := h.Outline(p.Request(), h.facts, h.found)
	if err != nil {
		p.Why = bench.Reason(err)
		return
	}
	p.Estimate, p.Least = planned.Estimate, cmp.Or(plan.LeastEstimate(planned), planned.Estimate)
	if len(planned.Trials) == 0 {
		p.Why = "nothing of it can run here"
	}
}

// leastBudget is the least that a part's rule can be given.
const leastBudget = 10 * time.Second

// share divides the budget among the parts: what each takes at least, and of the rest in proportion to
// what each would take beyond that.
func share(parts []*Part, budget time.Duration) {
	if budget == 0 {
		return
	}
	var least, beyond float64
	for _, p := range parts {
		if p.Why == "" {
			least += p.Least
			beyond += max(0, p.Estimate-p.Least)
		}
	}
	left := budget.Seconds() - least
	for _, p := range parts {
		if p.Why != "" {
			continue
		}
		of := p.Least
		switch {
		case left < 0:
			of = p.Least * budget.Seconds() / least
		case beyond > 0:
			of += min(left, beyond) * max(0, p.Estimate-p.Least) / beyond
		}
		p.budget = max(leastBudget, time.Duration(of*float64(time.Second)).Round(time.Second))
	}
}

// Dir is where a part's run lies below the folder of a reproduction: named for the experiment, with a
// number where a run of other cases or platforms is there already. there says whether a run is.
func (p *Part) Dir(root string) (dir string, there bool, err error) {
	want := p.Request().Overrides()
	for n := 1; ; n++ {
		dir = filepath.Join(root, p.Experiment)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		if _, err := os.Stat(filepath.Join(dir, "run.json")); os.IsNotExist(err) {
			return dir, false, nil
		}
		r, err := store.Open(dir)
		if err != nil {
			return dir, false, err
		}
		set := r.Header().Set
		if err := r.Close(); err != nil {
			return dir, false, err
		}
		if slices.Equal(asked(set), asked(want)) {
			return dir, true, nil
		}
	}
}

// asked are the overrides that say what a run is of, without the time that it is given.
func asked(set []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool { return strings.HasPrefix(s, "budget=") })
}

// Stored opens stored runs: folders of runs, and folders that hold some. Close each.
func Stored(dirs []string) (runs []*store.Run, err error) {
	for _, dir := range dirs {
		err := CheckSeal(dir)
		var found []string
		if err == nil {
			found, err = runsIn(dir)
		}
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: holds no run: %w%w", dir, bench.ErrInvalid, bench.Hint("name the folder of a run, or one that tare reproduce made"))
		}
		for _, d := range found {
			var r *store.Run
			if r, err = store.Open(d); err != nil {
				break
			}
			runs = append(runs, r)
		}
		if err != nil {
			for _, r := range runs {
				r.Close()
			}
			return nil, err
		}
	}
	return runs, nil
}

// mostRuns bounds the runs of a folder.
const mostRuns = 1000

func runsIn(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read stored runs: %w: %w", err, bench.ErrInvalid)
	}
	var found []string
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		if info, err := os.Lstat(filepath.Join(sub, "run.json")); e.Type()&fs.ModeSymlink != 0 || err != nil || !info.Mode().IsRegular() {
			continue
		}
		if found = append(found, sub); len(found) > mostRuns {
			return nil, fmt.Errorf("%s: more than %d runs: %w", dir, mostRuns, bench.ErrInvalid)
		}
	}
	return found, nil
}

// Judge judges what is asked for by stored runs of the built-in experiments. Others are left out, and
// why: data name scenes, and a specification of the same name may mean others by them.
func (h *Host) Judge(ask *Ask, runs []*store.Run) (d *claims.Document, others []string, err error) {
	d = &claims.Document{Format: claims.Format}
	m := claims.Measured{}
	for _, r := range runs {
		name := r.Plan().Experiment
		text, err := r.Spec()
		if err != nil {
			return nil, nil, err
		}
		if own, err := builtin.Find(name); err != nil || !bytes.Equal(own, text) {
			others = append(others, fmt.Sprintf("%s: its experiment %s is not the built-in one of this version", r.Dir(), name))
			continue
		}
		res, err := analysis.Analyze(r)
		if err != nil {
			return nil, nil, err
		}
		m[name] = append(m[name], &claims.Run{Dir: r.Dir(), Result: res, Against: func(platform string) (*result.Result, error) {
			return analysis.AnalyzeWith(r, analysis.Options{Baseline: platform})
		}})
		d.Runs = append(d.Runs, claims.Basis{Dir: r.Dir(), Experiment: name, Started: res.Started, Repeat: res.Repeat, Complete: res.Complete})
	}
	for _, c := range ask.Papers {
		p, err := claims.Judge(c.standing(ask.As), c.Exhibits, h.experiments, m)
		if err != nil {
			return nil, nil, err
		}
		d.Papers = append(d.Papers, p)
	}
	return d, others, nil
}

// standing is the paper with other platforms of ours for its own.
func (c *Chosen) standing(as map[string]string) *papers.Paper {
	if len(as) == 0 {
		return c.Paper
	}
	p := *c.Paper
	p.Platforms, p.Else = map[string][]string{}, maps.Clone(p.Else)
	for name, refs := range c.Paper.Platforms {
		if own, ok := as[name]; ok {
			refs = []string{own}
			delete(p.Else, name)
		}
		p.Platforms[name] = refs
	}
	p.Exhibits = slices.Clone(p.Exhibits)
	for i := range p.Exhibits {
		x := &p.Exhibits[i]
		if x.As == nil {
			continue
		}
		own := map[string][]string{}
		for name, refs := range x.As {
			if ref, ok := as[name]; ok {
				refs = []string{ref}
			}
			own[name] = refs
		}
		x.As = own
	}
	return &p
}

package papers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/spec"
)

// Kind is how near the experiments come to an exhibit.
type Kind string

const (
	AsPublished Kind = "as published" // program, factors, platforms, metric and scene are the paper's
	Narrower    Kind = "narrower"     // some of them are missing
	StandIn     Kind = "stand-in"     // another program for a like question
	NotHere     Kind = "not here"     // no experiment shows it
	Described   Kind = "set-up"       // the paper measures nothing in it
)

// Kinds are the states in order.
var Kinds = []Kind{AsPublished, Narrower, StandIn, NotHere, Described}

// State is how near the experiments come to an exhibit, and what they lack.
type State struct {
	Kind Kind `json:"kind"`
	// Missing is what the exhibit has and the experiments lack, or why there is none; Instead which
	// program stands in for which.
	Missing []string `json:"missing,omitempty"`
	Instead string   `json:"instead,omitempty"`
	// Else says which platforms of ours stand for the paper's on a host that has none like them.
	Else []string `json:"else,omitempty"`
}

// Experiments reads experiments by name.
type Experiments struct {
	Find  func(name string) (*spec.Experiment, error)
	Words spec.Vocabulary
}

// State works out how near the experiments come to an exhibit of the paper.
func (p *Paper) State(x *Exhibit, from Experiments) State {
	switch {
	case x.Drawn == SetUp:
		return State{Kind: Described}
	case x.None != "":
		return State{Kind: NotHere, Missing: []string{x.None}}
	}
	s := State{Kind: AsPublished, Instead: x.Instead}
	found := false
	for i := range x.Shows {
		missing, any := x.Shows[i].missing(from)
		s.Missing, found = append(s.Missing, missing...), found || any
	}
	for _, name := range x.Platforms {
		ours := p.Ours(x, name)
		if len(ours) == 0 {
			s.Missing = append(s.Missing, "platform "+name)
			continue
		}
		for i := range x.Shows {
			s.Missing = append(s.Missing, x.Shows[i].without(name, ours, from)...)
		}
		if _, own := x.As[name]; !own && len(p.Else[name]) > 0 {
			s.Else = append(s.Else, fmt.Sprintf("%s for %s", strings.Join(p.Else[name], ", "), name))
		}
	}
	s.Missing = append(s.Missing, x.Lacks...)
	switch {
	case !found:
		s.Kind = NotHere
	case x.Instead != "":
		s.Kind = StandIn
	case len(s.Missing) > 0:
		s.Kind = Narrower
	}
	return s
}

// missing is what the experiment lacks of what the exhibit asks for. found says whether it has a
// scene of it.
func (w *Show) missing(from Experiments) (missing []string, found bool) {
	e, err := from.Find(w.Experiment)
	if err != nil {
		return []string{"experiment " + w.Experiment}, false
	}
	levels := map[string][]string{}
	known := always()
	for _, name := range w.Scenes {
		is := false
		for i := range e.Scenes {
			s := &e.Scenes[i]
			if !s.Called(name) {
				continue
			}
			if program := s.Actors[0].Workload; !is && w.Program != "" && program != w.Program {
				missing = append(missing, fmt.Sprintf("program %s, for %s", w.Program, program))
			}
			is, found = true, true
			for _, text := range w.differs(s) {
				if !slices.Contains(missing, text) {
					missing = append(missing, text)
				}
			}
			for _, f := range s.Factors {
				levels[f.Name] = append(levels[f.Name], f.Level)
			}
			metrics, err := plan.MetricsOf(*s, from.Words)
			if err != nil {
				missing = append(missing, fmt.Sprintf("metrics of %s: %v", name, err))
			}
			for _, m := range metrics {
				known = append(known, m.Name)
			}
		}
		if !is {
			missing = append(missing, fmt.Sprintf("scene %s of %s", name, w.Experiment))
		}
	}
	if !found {
		return missing, false
	}
	for _, m := range w.Metrics {
		if !slices.Contains(known, m) {
			missing = append(missing, "metric "+m)
		}
	}
	for _, factor := range slices.Sorted(maps.Keys(w.Levels)) {
		var lacking []string
		for _, level := range w.Levels[factor] {
			if !slices.ContainsFunc(levels[factor], func(have string) bool { return sameLevel(have, level) }) {
				lacking = append(lacking, level)
			}
		}
		if len(lacking) > 0 {
			missing = append(missing, bench.FactorWords(factor)+" "+strings.Join(lacking, ", "))
		}
	}
	return missing, true
}

// differs says in what a scene is set up otherwise than the exhibit asks.
func (w *Show) differs(s *spec.Scene) (texts []string) {
	subject := &s.Actors[0]
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		if want, have := w.Params[name], subject.Params[name]; have != want {
			texts = append(texts, fmt.Sprintf("%s %s, for %s", bench.FactorWords(name), want, cmp.Or(have, "none")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Conditions)) {
		if want := w.Conditions[name]; s.Conditions[name] != want {
			texts = append(texts, fmt.Sprintf("a %s of %s", name, want))
		}
	}
	if subject.Shape.CPUs < w.CPUs {
		texts = append(texts, fmt.Sprintf("%s for each instance, for %d", figure.Count(w.CPUs, "CPU"), subject.Shape.CPUs))
	}
	if w.Whole && !s.Whole {
		texts = append(texts, "all of the host's CPUs")
	}
	shared := func(a spec.Actor) bool { return a.Role != bench.Peer && a.Placement == spec.Shared }
	if w.Apart && slices.ContainsFunc(s.Actors, shared) {
		texts = append(texts, "CPUs of its own for each instance")
	}
	return texts
}

// without are the scenes whose own list of platforms has none of ours for the paper's: an experiment's list
// is replaced by the paper's, and a scene's is not.
func (w *Show) without(name string, ours []string, from Experiments) (missing []string) {
	e, err := from.Find(w.Experiment)
	if err != nil {
		return nil
	}
	for i := range e.Scenes {
		s := &e.Scenes[i]
		if s.Platforms.AllReal || slices.EqualFunc(s.Platforms.Named, e.Platforms.Named, sameRef) || !slices.ContainsFunc(w.Scenes, s.Called) {
			continue
		}
		if slices.ContainsFunc(s.Platforms.Named, func(r bench.PlatformRef) bool { return slices.Contains(ours, r.String()) }) {
			continue
		}
		if text := "platform " + name + " in " + s.Name; !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return missing
}

func sameRef(a, b bench.PlatformRef) bool { return a.String() == b.String() }

// always are the metrics of any scene.
func always() []string {
	known := slices.Clone(Special)
	for _, m := range slices.Concat(bench.UsageMetrics, []bench.Metric{bench.PowerMetric}) {
		known = append(known, m.Name)
	}
	for _, q := range []string{result.Executions, result.PerExecution, result.Waited} {
		known = append(known, q, result.VCPU+q)
	}
	return known
}

// sameLevel reports whether two spellings are of one level: "1" and "1.0".
func sameLevel(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return a == b || errA == nil && errB == nil && x == y
}

// Cases are those of an experiment that the exhibit needs, for all of its metrics and claims: scenes,
// or single cases where it names these. They are in the order in which they are named.
func (x *Exhibit) Cases(experiment string) (cases []string) {
	add := func(words []string) {
		for _, w := range words {
			if !slices.Contains(cases, w) {
				cases = append(cases, w)
			}
		}
	}
	for _, w := range x.Shows {
		if w.Experiment == experiment {
			add(w.Scenes)
		}
	}
	return cases
}

// Experiments are those that show the exhibit.
func (x *Exhibit) Experiments() (names []string) {
	for _, w := range x.Shows {
		if !slices.Contains(names, w.Experiment) {
			names = append(names, w.Experiment)
		}
	}
	return names
}

// Counts counts exhibits by state: "22 as published, 3 narrower".
func Counts(states []State) string {
	var parts []string
	for _, k := range Kinds {
		n := 0
		for _, s := range states {
			if s.Kind == k {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+string(k))
		}
	}
	return strings.Join(parts, ", ")
}

// Unknown are the cases and metrics that the claims of an exhibit and its published numbers name and
// no experiment that shows it has: of a claim each case needs its metric.
func (p *Paper) Unknown(x *Exhibit, from Experiments) (errs []error) {
	var cases []string
	metrics := map[string][]string{} // by case and by scene
	for _, name := range x.Experiments() {
		e, err := from.Find(name)
		if err != nil {
			continue
		}
		for i := range e.Scenes {
			s := &e.Scenes[i]
			of, err := plan.MetricsOf(*s, from.Words)
			if err != nil {
				errs = append(errs, err)
			}
			for _, word := range []string{s.Name, s.Case(), name + ":" + s.Name, name + ":" + s.Case()} {
				cases = append(cases, word)
				for _, m := range of {
					metrics[word] = append(metrics[word], m.Name)
				}
			}
		}
	}
	check := func(name, metric string) {
		if !slices.Contains(cases, name) {
			errs = append(errs, bench.UnknownWord("case", name, cases))
			return
		}
		if known := slices.Concat(metrics[name], always()); !slices.Contains(known, metric) {
			errs = append(errs, fmt.Errorf("%s: %w", name, bench.UnknownWord("metric", metric, known)))
		}
	}
	for _, c := range x.Claims {
		for _, name := range slices.Concat(c.In, c.Against) {
			check(name, c.Metric)
		}
	}
	for _, q := range x.Published {
		check(q.In, q.Metric)
		if q.Against != "" {
			check(q.Against, q.Metric)
		}
	}
	return errs
}

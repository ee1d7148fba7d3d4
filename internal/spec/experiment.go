// Package spec reads an experiment from one YAML file. It knows no platform
// and no workload: the words that may be used come in a [Vocabulary].
//
// A file is read into a tree whose every value knows its place; --set changes
// the tree, and each level of a factor is a changed copy of its scene. So one
// reader serves all three, and an error points at the words that caused it,
// wherever they were said. The format is described in docs/SPEC.md.
package spec

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
)

// Vocabulary is what a specification may speak of.
type Vocabulary struct {
	Platforms []PlatformWord
	Workloads []bench.Workload
	// Fill checks a workload's parameters, fills in the defaults and gives every
	// value its canonical form. An error that has the method ParamName() string
	// is reported where that parameter was written; several may be joined.
	Fill func(w bench.Workload, p bench.Params) (bench.Params, error)
	// Checks are the names of the fairness audit's checks.
	Checks []string
}

// PlatformWord is a platform as it can be named.
type PlatformWord struct {
	Name    string
	Options []bench.Option
	// On are the platforms an instance of which can be this one's host, some of
	// them inside others: "xen-pv@qemu-tcg".
	On []string
}

// Workload returns the workload with the name, or nil.
func (v Vocabulary) Workload(name string) bench.Workload {
	for _, w := range v.Workloads {
		if w.Name() == name {
			return w
		}
	}
	return nil
}

// Variant returns all options of a platform as its driver sees them, with the
// defaults of those that the reference leaves out.
func (v Vocabulary) Variant(ref bench.PlatformRef) map[string]string {
	var known []bench.Option
	for r, prefix := &ref, ""; r != nil; r, prefix = r.On, bench.OuterName(prefix) {
		word := v.platform(r.Name)
		if word == nil {
			continue
		}
		for _, o := range word.Options {
			o.Name = prefix + o.Name
			known = append(known, o)
		}
	}
	return bench.Variant(known, ref.DriverOptions())
}

func (v Vocabulary) platform(name string) *PlatformWord {
	for i := range v.Platforms {
		if v.Platforms[i].Name == name {
			return &v.Platforms[i]
		}
	}
	return nil
}

// Platforms are those of an experiment or a scene.
type Platforms struct {
	// AllReal: every platform that is real on the host, as far as not named.
	AllReal bool
	Named   []bench.PlatformRef
}

// Experiment is a specification, checked as far as is possible without the host.
type Experiment struct {
	Name      string
	Title     string
	Question  string
	Platforms Platforms
	Baseline  bench.PlatformRef
	// Blocks is the number of blocks, and of a stopping rule its max.
	Blocks  int
	Until   *bench.Until // nil: every block is run; the planner chooses the looks
	Seed    *uint64      // nil: the planner's to choose
	Margin  float64      // of equivalence, a fraction
	MaxTime time.Duration
	// Rest is how long the machine's power at rest is measured before and after
	// the trials of a block, where there is a meter.
	Rest     time.Duration
	Scenes   []Scene // with their factors crossed
	Warnings []string
	// Inject are slowdowns put on subjects on purpose.
	Inject []Inject
	// Studies are checks of the fairness audit whose difference is the question.
	Studies []string
	// Covers are the published figures and tables that it measures anew, such as "tesfatsion2018 fig11".
	Covers []string
	// Unmetered are the platforms whose trials are not observed.
	Unmetered []bench.PlatformRef
	Places    Places
}

// Nested are the drivers of the platforms that run inside others: "runc@qemu-tcg".
func (e *Experiment) Nested() []string {
	var names []string
	for _, r := range e.named() {
		if name := r.Driver(); r.On != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// OnHost are the platforms that the host itself runs, the outermost of
// nestings, with the values of their options: what decides which programs the
// host needs. all says that every platform may be among them.
func (e *Experiment) OnHost() (words []string, all bool) {
	for _, r := range e.named() {
		for r.On != nil {
			r = *r.On
		}
		words = append(words, r.Name)
		words = append(words, slices.Sorted(maps.Values(r.Options))...)
	}
	all = e.Platforms.AllReal
	for _, s := range e.Scenes {
		all = all || s.Platforms.AllReal
	}
	slices.Sort(words)
	return slices.Compact(words), all
}

// Uses reports whether a trial may be on the platform of the driver, as far as
// can be told without the host.
func (e *Experiment) Uses(driver string) bool {
	_, all := e.OnHost()
	return all && !strings.Contains(driver, "@") || slices.ContainsFunc(e.named(), func(r bench.PlatformRef) bool { return r.Driver() == driver })
}

// named are the platforms of the experiment, its scenes and their actors.
func (e *Experiment) named() []bench.PlatformRef {
	refs := slices.Clone(e.Platforms.Named)
	for _, s := range e.Scenes {
		refs = append(refs, s.Platforms.Named...)
		for _, a := range s.Actors {
			if a.Platform != nil {
				refs = append(refs, *a.Platform)
			}
		}
	}
	return refs
}

// Inject is a slowdown of the subjects on one platform.
type Inject struct {
	Platform bench.PlatformRef
	bench.Injection
}

// Scene is what one trial sets up, but for the platform under test.
type Scene struct {
	Name    string
	Title   string
	Startup bool
	// Migrate is the way in which the subject is moved while it runs: [bench.Live],
	// [bench.Checkpoint] or [Either]; "" for none.
	Migrate string
	// Ramp, if set, is how the instances of the only actor come up.
	Ramp *bench.Ramp
	// Cache is the state of the page cache before a launch, "" as it happens to be.
	Cache string
	// Optional: left out, with a warning, on a host that cannot run it.
	Optional bool
	// Grow: instances whose work needs more memory than their shape get it, where the host has room.
	Grow      bool
	Platforms Platforms
	Timing    bench.Timing
	// Conditions of the host, by the names of bench.ConditionNames.
	Conditions map[string]string
	Factors    []Factor
	Actors     []Actor // the subjects first
	// Relative, if set, sets the scene against another on the same platform.
	Relative *Relative
	// Pool is how many of the host's CPUs the scene is placed on; 0 is all.
	Pool int
	// MemoryPool is the memory that all actors but peers share; 0 is the host's.
	MemoryPool bench.Bytes
	Places     Places
}

// Factor is one factor's level in a scene.
type Factor struct {
	Name  string // such as "threads" or "shape.memory"
	Level string
}

// Actor is one or several like instances of a scene.
type Actor struct {
	Name string
	Role bench.Role
	Host string
	// Platform is nil where it is the platform under test.
	Platform *bench.PlatformRef
	Shape    bench.Shape
	// Workload is empty for an idle actor and the subject of a start-up scene.
	Workload string
	// Params are each instance's own: a load that several split is divided already.
	Params bench.Params
	Part   string
	// Serves names the actor whose workload this one is a part of. One such
	// actor is there for every instance of the one it serves.
	Serves string
	// Count is how many there are; 1 for an actor that serves another.
	Count     int
	Placement Placement
	// Cage is the outer cage; nil where none was written. Zero limits are the planner's to choose.
	Cage   *bench.Cage
	Places Places
}

// Placement is which of the host's CPUs an actor's instances run on.
type Placement string

const (
	// Apart: on CPUs of its own where the host has enough.
	Apart Placement = "apart"
	// Shared: on the CPUs of the first subject.
	Shared Placement = "shared"
	// Floating: on any CPU, as many at a time as the shape says in a virtual
	// machine; elsewhere only a quota bounds them.
	Floating Placement = "floating"
)

// Parse reads an experiment. The file name is for messages; each argument of
// set is a "path=value" that replaces a value, such as timing.measure=10s or
// scenes.cpu.params.threads=4. An error is of type [Errors]; with it comes what
// could be read of the experiment, or nil, for what else is to be said of that.
func Parse(file string, text []byte, set []string, v Vocabulary) (*Experiment, error) {
	src := newSource(file, text)
	root, err := readTree(src, text)
	if err != nil {
		return nil, Errors{fault(src, err)}
	}
	d := &decoder{words: v}
	for _, arg := range set {
		changed, err := apply(root, arg)
		if err != nil {
			d.errs = append(d.errs, fault(src, err))
			continue
		}
		root = changed
	}
	e := d.experiment(root)
	if len(d.errs) > 0 {
		return e, d.errs.Sorted()
	}
	return e, nil
}

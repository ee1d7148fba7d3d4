// Package spec reads an experiment from one YAML file. It knows no platform and no workload. A
// [Vocabulary] lists the words that may be used.
//
// A file is read into a tree in which every value has its place. --set changes the tree. Each level
// of a factor is a changed copy of its scene. So one reader serves all three, and an error points
// at the words that caused it in the file or in a --set argument. docs/SPEC.md describes the
// format.
package spec

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Vocabulary lists the platforms, workloads and checks that a specification may name.
type Vocabulary struct {
	Platforms []PlatformWord
	Workloads []bench.Workload
	// Fill checks a workload's parameters, fills in the defaults and gives every
	// value its canonical form. An error that has the method ParamName() string
	// is reported where that parameter was written, and one that wraps an error with
	// ValuePath() string where that value of it was; several may be joined.
	Fill func(w bench.Workload, p bench.Params) (bench.Params, error)
	// Checks are the names of the fairness audit's checks.
	Checks []string
}

// PlatformWord is a platform that a specification can name.
type PlatformWord struct {
	Name    string
	Options []bench.Option
	// Also are the programs that it is known by.
	Also []string
	// On lists the platforms whose instances can host this one. Some are nestings themselves:
	// "xen-pv@qemu-tcg".
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

// Variant returns all options of a platform as its driver sees them. Options that the reference
// leaves out have their defaults.
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

// Platforms are the platforms of an experiment or a scene.
type Platforms struct {
	// AllReal: in addition to the named platforms, every platform that is real on the host.
	AllReal bool
	Named   []bench.PlatformRef
}

// Experiment is a specification with all checks done that need no host.
type Experiment struct {
	Name      string
	Title     string
	Question  string
	Platforms Platforms
	Baseline  bench.PlatformRef
	// Blocks is the number of blocks. With a stopping rule it is the rule's max.
	Blocks int
	Until  *bench.Until // nil: all blocks are run; the planner chooses the looks
	// Disturbed says which launches are repeated for other work on the host.
	Disturbed bench.Disturbance
	Seed      *uint64 // nil: the planner chooses
	Margin    float64 // of equivalence, a fraction
	Rare      float64 // share of launches that may behave otherwise unseen; 0: the default
	MaxTime   time.Duration
	// Idle is how long the machine's power at rest is measured before and after the trials of a
	// block, if there is a meter.
	Idle     time.Duration
	Scenes   []Scene // with their factors crossed
	Warnings []string
	// Inject are deliberate slowdowns of subjects.
	Inject []Inject
	// Answers are the metrics that answer the question, in the place of the workloads' headline metrics.
	Answers []string
	// Partial: scenes were left out (only), which may be those with the metrics that answer.
	Partial bool
	// Studies names the checks of the fairness audit whose differences the experiment studies.
	Studies []string
	// Covers are the published figures and tables that it replicates, such as "tesfatsion2018
	// fig11".
	Covers []string
	// Unmetered are the platforms whose trials are not observed.
	Unmetered []bench.PlatformRef
	// Add are Debian packages that the image is to hold beyond the base's.
	Add []string
	// Image is an image of the user's own, which the instances run; "" for the golden one.
	Image string
	// Kernel is a kernel of the user's own for machines without an agent, its files by their paths
	// alone; nil for none.
	Kernel *bench.OwnKernel
	// Hosts are the further hosts that peers may run on.
	Hosts []bench.FurtherHost
	// Control is the baseline under a second name, which the planner adds to the scenes that
	// are [Scene.Controlled]; nil for none.
	Control *bench.PlatformRef
	Places  Places
}

// Nested returns the drivers of the platforms that run inside others: "runc@qemu-tcg".
func (e *Experiment) Nested() []string {
	var names []string
	for _, r := range e.named() {
		if name := r.Driver(); r.On != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// OnHost returns the platforms that the host itself runs, with the values of their options. For a
// nesting that is the outermost. They decide which programs the host needs. all says that every
// platform may be among them.
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

// Uses reports whether a trial may use the driver's platform, as far as is known without the host.
func (e *Experiment) Uses(driver string) bool {
	_, all := e.OnHost()
	return all && !strings.Contains(driver, "@") || e.Names(driver)
}

// Names reports whether it names the driver's platform itself.
func (e *Experiment) Names(driver string) bool {
	return slices.ContainsFunc(e.named(), func(r bench.PlatformRef) bool { return r.Driver() == driver })
}

// Chooses reports whether it names a program to run in the place of the driver's own.
func (e *Experiment) Chooses(driver string) bool {
	return slices.ContainsFunc(e.named(), func(r bench.PlatformRef) bool {
		return r.Driver() == driver && r.Options[bench.ProgramOption] != ""
	})
}

// named returns the platforms of the experiment, its scenes and their actors.
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

// Scene is what one trial sets up, except for the platform under test.
type Scene struct {
	Name    string
	Title   string
	Short   string // what a sentence calls its work: "random reads"; "" if not given
	Startup bool
	// Migrate says how the subject is moved while it runs: [bench.Live], [bench.Checkpoint] or
	// [Either]; "" for none.
	Migrate string
	// Ramp, if set, is how the instances of the only actor start.
	Ramp *bench.Ramp
	// Cache is the state of the page cache before a launch, "" for no particular state.
	Cache string
	// Optional: a host that cannot run the scene skips it with a warning.
	Optional bool
	// Grow: instances whose workload needs more memory than their shape get more, if the host has
	// enough.
	Grow bool
	// Whole: the subject, and a neighbour that shares its CPUs, get for each of the host's what is written for one.
	// Node: it is the CPUs of one NUMA node in place of all.
	Whole, Node bool
	// Fit: instances have fewer CPUs than their shape says, and share them if need be, where the host
	// has not as many.
	Fit       bool
	Platforms Platforms
	Timing    bench.Timing
	// Conditions of the host, by the names of bench.ConditionNames.
	Conditions map[string]string
	Factors    []Factor
	Actors     []Actor // the subjects first
	// Relative, if set, compares the scene with another on the same platform.
	Relative *Relative
	// Peak, if set, says when a rate is held.
	Peak *bench.Peak
	// Turns, if not 0, is how long the subject and the partner, the last but its peers, work in turn.
	Turns time.Duration
	// Pool is how many of the host's CPUs the scene is placed on; 0 is all.
	Pool int
	// MemoryPool is the memory that all actors but peers share; 0 is the host's.
	MemoryPool bench.Bytes
	Places     Places
}

// Worked reports whether what the subject's program did is what is measured, and not the launch, a
// move or a limit.
func (s *Scene) Worked() bool { return !s.Startup && s.Migrate == "" && s.Ramp == nil }

// Factor is one factor's level in a scene.
type Factor struct {
	Name   string // such as "threads" or "shape.memory"
	Level  string
	Called string // what people call it; "" where the specification does not say
}

// Words say it to people: "memory 1 GiB" for shape.memory, "2 threads" for threads.
func (f Factor) Words() string {
	if f.Called != "" {
		return f.Called
	}
	name := bench.FactorWords(f.Name)
	if n, err := strconv.Atoi(f.Level); err == nil && strings.HasSuffix(name, "s") {
		return figure.Count(n, strings.TrimSuffix(name, "s"))
	}
	if m := sized.FindStringSubmatch(f.Level); m != nil {
		return name + " " + m[1] + " " + m[2]
	}
	return name + " " + f.Level
}

// sized is a level that is a number with a unit.
var sized = regexp.MustCompile(`^([0-9.]+)([A-Za-z]+)$`)

// in reports whether the factor has the same level among all of another scene.
func (f Factor) in(all []Factor) bool {
	return slices.ContainsFunc(all, func(o Factor) bool { return o.Name == f.Name && o.Level == f.Level })
}

// Actor is one or several equal instances of a scene.
type Actor struct {
	Name string
	Role bench.Role
	Host string
	// Platform is nil for the platform under test.
	Platform *bench.PlatformRef
	Shape    bench.Shape
	// Workload is empty for an idle actor and the subject of a start-up scene.
	Workload string
	// Params are those of each instance. A load that several instances share is divided already.
	Params bench.Params
	Part   string
	// Serves names the actor whose workload this one is a part of. Each instance of that actor gets
	// one of this.
	Serves string
	// Count is the number of instances; 1 for an actor that serves another.
	Count     int
	Placement Placement
	// Read, of a neighbour: it does its work once, in the subject's window, and its output is read, too.
	Read bool
	// Containment is nil if none was written. The planner chooses limits that are zero.
	Containment *bench.Containment
	Places      Places
}

// Placement says on which of the host's CPUs an actor's instances run.
type Placement string

const (
	// Apart: on its own CPUs if the host has enough.
	Apart Placement = "apart"
	// Shared: on the CPUs of the first subject.
	Shared Placement = "shared"
	// Floating: on any CPU. A virtual machine uses at most as many at a time as its shape has.
	// Elsewhere only a quota bounds them.
	Floating Placement = "floating"
)

// Parse reads an experiment. The file name is for messages. Each argument of set is a "path=value"
// that replaces a value, such as timing.measure=10s or scenes.cpu.params.threads=4. An error is of
// type [Errors]. With an error, Parse returns the part of the experiment that it could read, or
// nil, so that the caller can check that part too.
func Parse(file string, text []byte, set []string, v Vocabulary) (*Experiment, error) {
	src := newSource(file, text)
	root, twice, err := readTree(src, text)
	if err != nil {
		return nil, append(twice, fault(src, err)).Sorted()
	}
	d := &decoder{words: v, errs: twice}
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

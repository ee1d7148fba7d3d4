// Package plan works an experiment out: which scenes on which platforms, on
// which CPUs, in which order, for how long. It is pure: the same experiment,
// inputs and seed give the same plan.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/spec"
)

// Inputs are what a plan depends on besides the experiment.
type Inputs struct {
	// Seed orders the trials where the experiment names none.
	Seed uint64
	Host Host
	// Available are the platforms that can run here, by name.
	Available map[string]bench.Availability
	// Launches are how long a launch of each takes, as its [bench.Traits] say.
	Launches map[string]time.Duration
	// Skips say why the other platforms cannot.
	Skips []bench.Skip
	Words spec.Vocabulary
	// Own is the image of the user's own that the experiment names; nil for none.
	Own *bench.OwnImage
	// Kernel is a kernel of the user's own that the experiment names, with its digests; nil for none.
	Kernel *bench.OwnKernel
	// Power: something measures what the machine draws, so it rests around each block.
	Power bool
}

// Host is what a plan must know of the machine.
type Host struct {
	CPUs []int // that may be used, ascending; never empty
	// Alike are groups of cores that can stand in for each other; a core is a list of its CPUs.
	Alike    [][][]int
	Nodes    [][]int // CPUs that may be used of each NUMA node; none if there is one or it is not known
	Memory   bench.Bytes
	Free     bench.Bytes // memory that nobody uses now; 0 is unknown
	LLC      bench.Bytes // last-level cache
	DiskFree bench.Bytes // under the directory for scratch space; 0 is unknown
	Pids     int         // most tasks the kernel takes; 0 is unknown
	// MemoryNodes are the NUMA nodes that have memory; none if unknown.
	MemoryNodes []int
	// Controls are what of each condition of the host can be set.
	Controls map[string]bench.Control
}

// maxTrials bounds a plan.
const maxTrials = 100_000

// Make plans the experiment. What cannot run here is a [spec.Errors] that
// points into the specification; a baseline that is not available wraps
// bench.ErrUnavailable.
func Make(e *spec.Experiment, in Inputs) (*bench.Plan, error) {
	if len(in.Host.CPUs) == 0 {
		return nil, fmt.Errorf("plan %s: no CPU may be used: %w", e.Name, bench.ErrInvalid)
	}
	m := &maker{Inputs: in, skipped: map[string]bool{}}
	scenes, errs := m.check(e)
	m.plan = &bench.Plan{
		Experiment: e.Name, Title: e.Title, Question: e.Question,
		Seed: in.Seed, Blocks: e.Blocks, Baseline: e.Baseline.String(), Margin: e.Margin, Rare: e.Rare,
		Metrics: map[string][]bench.Metric{}, Resources: map[string]string{},
		Warnings: slices.Clone(e.Warnings), Studies: e.Studies, Answers: e.Answers,
	}
	disturbed := e.Disturbed
	m.plan.Disturbed = &disturbed
	if in.Power {
		m.plan.Idle = e.Idle
	}
	if e.Until != nil {
		u := *e.Until
		u.Looks = stats.Looks(u.Min, u.Max)
		m.plan.Until = &u
	}
	if e.Seed != nil {
		m.plan.Seed = *e.Seed
	}
	for _, s := range scenes {
		var faults spec.Errors
		switch err := m.scene(s, e); {
		case errors.As(err, &faults): // all of them are told at once
			errs = append(errs, faults...)
		case err != nil && len(errs) == 0:
			return nil, err
		}
	}
	if len(scenes) == len(e.Scenes) && !e.Partial { // or the scene that has the metric may be one that was left out
		errs = append(errs, m.answered(e)...)
	}
	if len(errs) > 0 {
		return nil, errs.Sorted()
	}
	m.plan.Skipped = slices.DeleteFunc(m.plan.Skipped, m.used)
	if n := len(m.plan.Scenes) * e.Blocks; n > maxTrials {
		return nil, spec.Errors{e.Places.At("scenes").Errorf("%d trials: at most %d can be planned", n, maxTrials)}
	}
	if u := m.plan.Until; u != nil && lone(m.plan.Scenes) {
		u.Max, u.Looks, m.plan.Blocks = u.Min, []int{u.Min}, u.Min
	}
	m.plan.Trials = order(m.plan.Scenes, m.plan.Blocks, m.plan.Seed)
	m.plan.Exchanged = exchanges(m.Host.Alike, m.plan.Blocks, m.plan.Seed)
	m.plan.Image = m.image(e)
	m.plan.Hosts = slices.DeleteFunc(slices.Clone(e.Hosts), func(h bench.FurtherHost) bool { return !runsOn(m.plan.Scenes, h.Name) })
	m.plan.Warnings = append(m.plan.Warnings, m.findings.warnings()...)
	m.plan.Warnings = append(m.plan.Warnings, injected(e.Inject)...)
	m.estimate(e)
	return m.plan, nil
}

// lone says whether all scenes are of one platform, and none is set against another or is a point
// of a curve: there is nothing that more blocks would decide.
func lone(scenes []bench.Scene) bool {
	return !slices.ContainsFunc(scenes, func(s bench.Scene) bool {
		return s.Platform.String() != scenes[0].Platform.String() || s.Control || s.Relative != nil || s.Peak != nil || len(s.Factors) > 0
	})
}

// answered are the faults of the metrics that are to answer the question and that no case has.
func (m *maker) answered(e *spec.Experiment) (errs spec.Errors) {
	known := []string{bench.PowerMetric.Name}
	for _, metrics := range m.plan.Metrics {
		for _, metric := range slices.Concat(metrics, bench.UsageMetrics) {
			known = append(known, metric.Name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for i, name := range e.Answers {
		if !slices.Contains(known, name) {
			errs = append(errs, e.Places.At(fmt.Sprintf("answers.%d", i)).Errorf("%w", bench.UnknownWord("metric of any scene here", name, known)))
		}
	}
	return errs
}

type maker struct {
	Inputs
	plan     *bench.Plan
	skipped  map[string]bool // already in plan.Skipped
	findings findings
}

// image is what the image must hold beyond the base: what the planned workloads need, and what was
// asked for.
func (m *maker) image(e *spec.Experiment) bench.ImageNeeds {
	needs := bench.ImageNeeds{Add: e.Add, Own: m.Own}
	for _, s := range m.plan.Scenes {
		for _, a := range s.Actors {
			if a.Platform.Agentless() {
				needs.Kernel = m.Kernel
			}
			if w, ok := m.Words.Workload(a.Workload).(bench.Familied); ok {
				needs.Families = append(needs.Families, w.Family())
			}
		}
	}
	slices.Sort(needs.Families)
	needs.Families = slices.Compact(needs.Families)
	return needs
}

// leastCheckpointed is how long a program should run that is moved by files.
const leastCheckpointed = 2 * time.Second

// scene adds a scene of the specification on each of its platforms.
func (m *maker) scene(s spec.Scene, e *spec.Experiment) error {
	able := m.platforms(s.Platforms)
	platforms := m.reached(able, s, e)
	if len(platforms) == 0 && len(able) > 0 {
		return nil
	}
	if s.Turns == 0 {
		return m.sceneOn(platforms, s, e)
	}
	able, rest := m.freezable(platforms, s, e.Baseline)
	if len(rest) > 0 {
		name := apart(s).Name
		if slices.ContainsFunc(e.Scenes, func(o spec.Scene) bool { return o.Name == name }) {
			return spec.Errors{s.Places.At("name").Errorf("%s cannot take turns, and is launched apart as %q, which is another scene's name%w", rest[len(rest)-1], name,
				bench.Hint("give one of the two scenes another name"))}
		}
		if err := m.sceneOn(rest, apart(s), e); err != nil {
			return err
		}
	}
	if len(able) == 0 {
		return nil
	}
	return m.sceneOn(able, s, e)
}

// sceneOn adds a scene on the platforms, and on the control.
func (m *maker) sceneOn(platforms []bench.PlatformRef, s spec.Scene, e *spec.Experiment) error {
	baseline := e.Baseline
	if s.Migrate != "" {
		var err error
		if platforms, err = m.movable(platforms, s); err != nil {
			return err
		}
	}
	afar := ""
	platforms, afar = m.found(platforms, s)
	if !slices.ContainsFunc(platforms, func(r bench.PlatformRef) bool { return r.String() == baseline.String() }) {
		why := m.whyNot(baseline)
		if why == nil && afar != "" {
			why = m.unfound(baseline, afar)
		}
		if why == nil && s.Migrate != "" {
			why = m.unmoved(baseline)
		}
		if why == nil {
			why = &bench.Skip{Reason: "all-real leaves it out: name it among the platforms"}
		}
		return fmt.Errorf("plan scene %s: the baseline %s cannot run here: %s: %w%w", s.Name, baseline, why.Reason,
			bench.ErrUnavailable, bench.Hint(why.Hint))
	}
	if s.Controlled(e) {
		platforms = append(platforms, *e.Control)
	}
	var faults spec.Errors
	for _, ref := range platforms {
		faults = append(append(faults, m.checkAgentless(s, ref)...), m.checkPublished(s, ref)...)
	}
	if len(faults) > 0 {
		return faults
	}
	for _, ref := range platforms {
		built, err := m.build(s, ref)
		if err != nil {
			return err
		}
		if s.Migrate != "" && m.Available[ref.Driver()].Migrates == bench.Checkpoint {
			built.Kind = bench.Checkpointing
			if a := s.Actors[0]; a.Workload != "" && s.Timing.Measure < leastCheckpointed {
				m.findings.add(s.Case(), []string{fmt.Sprintf("measure %v: the program may have ended before its checkpoint is restored; give it %v or more", s.Timing.Measure, leastCheckpointed)})
			}
		}
		built.Relative, built.Peak = relative(&s, e), s.Peak
		if err := inject(&built, e); err != nil {
			return err
		}
		built.Control = s.Controlled(e) && ref.String() == e.Control.String()
		built.Unmetered = slices.ContainsFunc(e.Unmetered, func(r bench.PlatformRef) bool { return r.String() == ref.String() })
		m.plan.Scenes = append(m.plan.Scenes, built)
	}
	name := s.Case()
	metrics, err := MetricsOf(s, m.Words)
	if err != nil {
		return spec.Errors{s.Actors[0].Places.Blame(err, "workload")}
	}
	switch {
	case s.Startup && slices.ContainsFunc(platforms, bench.PlatformRef.Agentless):
		metrics = bench.AcceptedMetrics // nothing inside runs a first command
	case s.Migrate != "" && !slices.ContainsFunc(m.plan.Scenes, func(x bench.Scene) bool { return x.Case == name && x.Kind == bench.Checkpointing }):
		metrics = bench.MigrationMetrics
	}
	if w := m.Words.Workload(s.Actors[0].Workload); w != nil && s.Worked() {
		m.plan.Resources[name] = w.Resource()
	}
	m.plan.Metrics[name] = metrics
	if len(metrics) == 0 && !m.Power {
		m.findings.add(name, []string{"its program measures nothing, and no power meter is read (--power)"})
	}
	return nil
}

// MetricsOf are those of a scene on platforms that can tell them all: of one that moves those of both
// ways.
func MetricsOf(s spec.Scene, v spec.Vocabulary) (metrics []bench.Metric, err error) {
	w := v.Workload(s.Actors[0].Workload)
	switch {
	case s.Startup:
		metrics = bench.StartupMetrics
	case s.Migrate != "":
		metrics = slices.Concat(bench.MigrationMetrics, bench.CheckpointMetrics)
	case s.Ramp != nil:
		metrics = bench.RampMetrics
	case s.Turns > 0:
		metrics = bench.TurnMetrics
	default:
		if metrics, err = w.Metrics(s.Actors[0].Params); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(s.Actors, func(a spec.Actor) bool { return a.Read }) {
		metrics = slices.Concat(metrics, bench.BesideMetrics(metrics))
	}
	if _, ok := w.(bench.RootWriter); ok && s.Migrate == "" {
		metrics = slices.Concat(metrics, bench.StoredMetrics)
	}
	return metrics, nil
}

// movable are the platforms whose instances can move as the scene asks. Those
// that have no such way are errors; one that lacks something on this host is put
// down as skipped.
func (m *maker) movable(refs []bench.PlatformRef, s spec.Scene) (can []bench.PlatformRef, err error) {
	at, hint := s.Places.At("migrate"), bench.Hint(m.migratory(s.Migrate))
	var never []string
	var errs spec.Errors
	for _, ref := range refs {
		switch way := m.Available[ref.Driver()].Migrates; {
		case way == "":
			never = append(never, ref.String())
			continue
		case s.Migrate != spec.Either && s.Migrate != way:
			errs = append(errs, at.Errorf("%s is migrated by migrate: %s%w", ref, way, hint))
			continue
		}
		if why := m.unmoved(ref); why != nil {
			why.Named = true
			m.skip(*why)
			continue
		}
		can = append(can, ref)
	}
	if len(never) > 0 {
		text := "%s cannot be migrated while running%w"
		if s.Migrate == bench.Checkpoint {
			text = "%s cannot be checkpointed%w"
		}
		errs = append(errs, at.Errorf(text, strings.Join(never, ", "), hint))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return can, nil
}

// unmoved is the skip of a platform whose instances cannot move on this host, nil if they can.
func (m *maker) unmoved(ref bench.PlatformRef) *bench.Skip {
	err := m.Available[ref.Driver()].Unmoved
	if err == nil {
		return nil
	}
	return &bench.Skip{Platform: ref.String(), Reason: "it cannot be moved: " + bench.Reason(err), Hint: bench.HintOf(err)}
}

// migratory names the platforms that a scene can migrate in the way.
func (m *maker) migratory(way string) string {
	var names []string
	for name, a := range m.Available {
		if a.Migrates != "" && a.Unmoved == nil && (way == spec.Either || way == a.Migrates) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no platform of this host can"
	}
	slices.Sort(names)
	return "on this host these can: " + strings.Join(names, ", ")
}

// platforms are those of a list that can run here, in the list's order; the
// real ones, where asked for, first. Each one left out is put down as skipped.
func (m *maker) platforms(list spec.Platforms) []bench.PlatformRef {
	var refs []bench.PlatformRef
	named := map[string]bool{}
	for _, r := range list.Named {
		named[r.String()] = true
	}
	if list.AllReal {
		for _, w := range m.Words.Platforms {
			ref := bench.PlatformRef{Name: w.Name}
			why := m.whyNot(ref)
			switch a := m.Available[w.Name]; {
			case named[w.Name]:
			case why != nil:
				m.skip(*why)
			case a.Label == "":
				refs = append(refs, ref)
			default:
				m.skip(bench.Skip{Platform: w.Name, Reason: a.Label + " on this host: runs only when named"})
			}
		}
	}
	for _, r := range list.Named {
		if why := m.whyNot(r); why != nil {
			why.Named = true
			m.skip(*why)
			continue
		}
		if a := m.Available[r.Driver()]; a.Label != "" && !m.skipped["warned "+r.String()] {
			m.skipped["warned "+r.String()] = true
			m.plan.Warnings = append(m.plan.Warnings, fmt.Sprintf("%s is %s: its figures say nothing about the real thing", r, a.Label))
		}
		refs = append(refs, r)
	}
	return refs
}

// whyNot is the skip of a platform that cannot run here, or not with its
// options; nil if it can.
func (m *maker) whyNot(ref bench.PlatformRef) *bench.Skip {
	if a, ok := m.Available[ref.Driver()]; ok {
		err := a.Lacking(m.Words.Variant(ref))
		if err == nil {
			return nil
		}
		return &bench.Skip{Platform: ref.String(), Reason: bench.Reason(err), Hint: bench.HintOf(err)}
	}
	for _, s := range m.Skips {
		if s.Platform == ref.Driver() {
			s.Platform = ref.String()
			return &s
		}
	}
	return &bench.Skip{Platform: ref.String(), Reason: "not found on this host"}
}

// used reports whether a platform left out of one scene, being emulated, is
// named in another.
func (m *maker) used(s bench.Skip) bool {
	return slices.ContainsFunc(m.plan.Scenes, func(x bench.Scene) bool { return x.Platform.String() == s.Platform })
}

func (m *maker) skip(s bench.Skip) {
	if !m.skipped[s.Platform] {
		m.skipped[s.Platform] = true
		m.plan.Skipped = append(m.plan.Skipped, s)
	}
}

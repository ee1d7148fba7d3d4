package store

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"tare/internal/bench"
)

// What a folder may hold. It may come from someone else, so whatever is read
// of it is bounded in size before it is parsed, and in range and words before it
// is given out: report, compare and gate may trust what they get. The bounds are
// some hundred times what the built-in experiments need; what would break one is
// not written either.
const (
	maxFile   = 16 << 20  // bytes of run.json, spec.yaml, plan.json and host.json
	maxText   = 32 << 20  // bytes of a program's output: twice what an agent sends
	maxLine   = 16 << 20  // bytes of a line of trials.jsonl
	maxSample = 256 << 10 // bytes of a line of samples

	// Objects and values of one piece of JSON: each takes memory, however few its letters.
	maxObjects = 120_000
	maxValues  = 2_000_000

	maxNames   = 4096     // different names of actors, meters and columns in a trial's samples
	maxName    = 4 << 10  // bytes of what stands in every row: names, titles, units
	maxString  = 64 << 10 // bytes of any other text
	maxCPUs    = 8192     // of a Linux kernel, at most
	maxTrials  = 100_000
	maxBlocks  = 1000
	maxMetrics = 200         // of a case
	maxLooks   = 1000        // of a stopping rule
	maxAnswers = 100         // metrics of a plan that answer its question
	maxLookups = 100_000_000 // trials times scenes: each is looked up among them
	maxDepth   = 40          // of what holds one another
)

// readAtMost reads all of a file that holds no more than most bytes.
func readAtMost(f io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("more than %v in it: %w%w", bench.Bytes(most), bench.ErrInvalid, damaged)
	}
	return text, err
}

// countJSON is an error for text that would take much more memory than its
// bytes, once it is parsed. It need not be well-formed.
func countJSON(text []byte) error {
	objects, values, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			objects++
		case c == ',' || c == '[':
			values++
		}
	}
	switch {
	case objects > maxObjects:
		return fmt.Errorf("%d objects are too many: at most %d", objects, maxObjects)
	case values > maxValues:
		return fmt.Errorf("%d values are too many: at most %d", values, maxValues)
	}
	return nil
}

// checkAll looks at every number and text of a decoded value, so that a field
// that is added is bounded too. It names what it finds fault with.
func checkAll(v any) error { return walk(reflect.ValueOf(v), "", 0) }

func walk(v reflect.Value, path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d hold one another", path, maxDepth)
	}
	if !telling(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Float64:
		if err := bench.CheckQuantity(v.Float()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	case reflect.String:
		if n := v.Len(); n > maxString {
			return fmt.Errorf("%s: a text of %d bytes: at most %d", path, n, maxString)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return walk(v.Elem(), path, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := walk(v.Field(i), path+"."+v.Type().Field(i).Name, depth+1); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := walk(v.Index(i), path, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := errors.Join(walk(each.Key(), path, depth+1), walk(each.Value(), path, depth+1)); err != nil {
				return err
			}
		}
	}
	return nil
}

var told sync.Map // telling, by type

// telling reports whether values of the type hold numbers with fractions, texts,
// or more of their own kind; the bins of a histogram, of which there are most, do not.
func telling(t reflect.Type) bool {
	if known, ok := told.Load(t); ok {
		return known.(bool)
	}
	found := false
	switch t.Kind() {
	case reflect.Float64, reflect.String, reflect.Map, reflect.Pointer:
		found = true
	case reflect.Slice, reflect.Array:
		found = telling(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			found = found || telling(t.Field(i).Type)
		}
	}
	told.Store(t, found)
	return found
}

// checkNames is an error if a text that stands in every row is long.
func checkNames(of string, names ...string) error {
	for _, n := range names {
		if len(n) > maxName {
			return fmt.Errorf("%s: %.40q and so on is of %d bytes: at most %d", of, n, len(n), maxName)
		}
	}
	return nil
}

// checkWord is an error unless the word is one of those.
func checkWord[T ~string](what string, word T, words ...T) error {
	if !slices.Contains(words, word) {
		return fmt.Errorf("%s %.40q is none of %q", what, word, words)
	}
	return nil
}

// settle checks all numbers and texts of what a run was made with, and finds the
// trials of its plan, which is checked, by their ids from then on.
func (r *Run) settle() error {
	for name, v := range map[string]any{headerFile: &r.header, planFile: &r.plan, hostFile: &r.host} {
		if err := checkAll(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	r.planned = make(map[string]bench.Trial, len(r.plan.Trials))
	for _, t := range slices.Concat(r.plan.Trials, r.plan.Idles()) {
		r.planned[t.ID] = t
	}
	return nil
}

// boundPlan is an error unless the plan is one that can be read and reported.
func boundPlan(p *bench.Plan) error {
	for _, h := range p.Hosts {
		if err := h.Check(); err != nil {
			return err
		}
	}
	switch {
	case len(p.Trials) > maxTrials || len(p.Trials)*len(p.Scenes) > maxLookups:
		return fmt.Errorf("%d trials of %d scenes are too many: at most %d, and %d multiplied", len(p.Trials), len(p.Scenes), maxTrials, maxLookups)
	case p.Blocks < 0 || p.Blocks > maxBlocks:
		return fmt.Errorf("%d blocks: at most %d", p.Blocks, maxBlocks)
	case !(p.Margin >= 0 && p.Margin < 1):
		return fmt.Errorf("a margin of %g: at least 0, and less than 1", p.Margin)
	case len(p.Answers) > maxAnswers:
		return fmt.Errorf("%d metrics that answer the question: at most %d", len(p.Answers), maxAnswers)
	case bench.CheckInstant(int64(p.Idle)) != nil || p.Idle < 0:
		return fmt.Errorf("a rest of %d ns", int64(p.Idle))
	}
	if d := p.Disturbed; d != nil && (!(d.Above >= 0) || d.Above > maxCPUs || d.Repeats < 0 || d.Repeats > bench.MaxRepeats) {
		return fmt.Errorf("launches disturbed above %g CPUs, repeated %d times: at most %d", d.Above, d.Repeats, bench.MaxRepeats)
	}
	if u := p.Until; u != nil {
		if u.Min < 1 || u.Max < u.Min || u.Max > maxBlocks || !(u.Interval > 0) {
			return fmt.Errorf("a stopping rule of ±%g from %d to %d blocks", u.Interval, u.Min, u.Max)
		}
		if len(u.Looks) > maxLooks || !slices.IsSorted(u.Looks) || len(u.Looks) > 0 && (u.Looks[0] < u.Min || u.Looks[len(u.Looks)-1] > u.Max) {
			return fmt.Errorf("%d looks of the stopping rule: at most %d, in order, and within its blocks", len(u.Looks), maxLooks)
		}
	}
	if err := checkNames("the plan", p.Experiment, p.Title, p.Baseline); err != nil {
		return err
	}
	ids := make(map[string]bool, len(p.Scenes))
	for i := range p.Scenes {
		s := &p.Scenes[i]
		if ids[s.ID] {
			return fmt.Errorf("scene %.40q is there twice", s.ID)
		}
		ids[s.ID] = true
		if err := boundScene(s); err != nil {
			return fmt.Errorf("scene %.40q: %w", s.ID, err)
		}
	}
	for i, t := range p.Trials {
		if !ids[t.Scene] {
			return fmt.Errorf("trial %.40s: no scene %.40q in the plan", t.ID, t.Scene)
		}
		if t.Block < 1 || t.Block > p.Blocks {
			return fmt.Errorf("trial %.40q, of %d: block %d of %d", t.ID, i+1, t.Block, p.Blocks)
		}
	}
	if len(p.Exchanged) > p.Blocks {
		return fmt.Errorf("CPUs exchanged in %d blocks of %d", len(p.Exchanged), p.Blocks)
	}
	for i, places := range p.Exchanged {
		err := errors.Join(checkCPUs(slices.Collect(maps.Keys(places))), checkCPUs(slices.Collect(maps.Values(places))))
		if err != nil {
			return fmt.Errorf("exchanged in block %d: %w", i+1, err)
		}
	}
	for of, metrics := range p.Metrics {
		if len(metrics) > maxMetrics {
			return fmt.Errorf("case %.40q: %d metrics: at most %d", of, len(metrics), maxMetrics)
		}
		for _, m := range metrics {
			err := errors.Join(checkNames("a metric", of, m.Name, m.Unit),
				checkWord("metric "+m.Name+": better", m.Better, bench.HigherIsBetter, bench.LowerIsBetter),
				checkWord("metric "+m.Name+": combine", m.Combine, "", bench.Sum, bench.Mean, bench.Merge, bench.Max))
			if err == nil && !(m.Quantile >= 0 && m.Quantile <= 1) {
				err = fmt.Errorf("metric %s: quantile %g", m.Name, m.Quantile)
			}
			if err == nil && !(m.Step >= 0) {
				err = fmt.Errorf("metric %s: step %g", m.Name, m.Step)
			}
			if err != nil {
				return fmt.Errorf("case %.40q: %w", of, err)
			}
		}
	}
	for of, resource := range p.Resources {
		err := errors.Join(checkNames("a case", of), checkWord("resource", resource, bench.Resources...))
		if err != nil {
			return fmt.Errorf("case %.40q: %w", of, err)
		}
	}
	return nil
}

func boundScene(s *bench.Scene) error {
	err := errors.Join(checkNames("it", s.ID, s.Case, s.Title, s.Platform.String()),
		checkWord("kind", s.Kind, bench.One, bench.Alike, bench.Beside, bench.Cluster, bench.Startup, bench.Migration, bench.Checkpointing, bench.Idling, bench.Ramped))
	for factor, level := range s.Factors {
		err = errors.Join(err, checkNames("factor", factor, level))
	}
	if s.Relative != nil {
		err = errors.Join(err, checkNames("relative", s.Relative.To, s.Relative.Row, s.Relative.Column))
	}
	if p := s.Peak; p != nil {
		err = errors.Join(err, checkNames("peak", p.Loop.Rate, p.Loop.Got, p.Loop.Answered, p.Loop.Latency))
		if !(p.Bound > 0 && p.Errors >= 0 && p.Errors <= 1 && p.Short >= 0 && p.Short <= 1) {
			err = errors.Join(err, fmt.Errorf("peak within %d ns, with shares of %g and %g", p.Bound, p.Errors, p.Short))
		}
	}
	for _, d := range [...]int64{int64(s.Timing.Warmup), int64(s.Timing.Measure), int64(s.Timing.Cooldown), int64(s.Timing.Deadline), int64(s.Turns)} {
		if d < 0 || d > bench.MaxInstant {
			err = errors.Join(err, fmt.Errorf("a timing of %d ns", d))
		}
	}
	names := map[string]bool{}
	for _, a := range s.Actors {
		if names[a.Name] {
			err = errors.Join(err, fmt.Errorf("actor %.40q is there twice", a.Name))
		}
		names[a.Name] = true
		err = errors.Join(err, checkNames("actor", a.Name, a.Platform.String()), checkRole(a.Role), checkCPUs(a.CPUSet))
		if a.Shape.CPUs < 0 || a.Shape.Memory < 0 || a.Shape.Disk < 0 {
			err = errors.Join(err, fmt.Errorf("actor %.40q: a shape of %d CPUs, %v of memory and %v of disk", a.Name, a.Shape.CPUs, a.Shape.Memory, a.Shape.Disk))
		}
		if err != nil {
			return err
		}
	}
	return err
}

func checkRole(r bench.Role) error {
	return checkWord("role", r, bench.Subject, bench.Neighbour, bench.Idle, bench.Peer, bench.Partner, bench.Member)
}

// phases are the names of a trial's, in their order.
var phases = []string{"setup", "launch", "prepare", "warmup", "measure", "collect", "close", "cooldown"}

// boundOutcome is an error unless the outcome is of a trial of the plan and can be true.
func (r *Run) boundOutcome(o *bench.Outcome) error {
	t, ok := r.planned[o.Trial]
	switch {
	case !ok:
		return fmt.Errorf("trial %.40q is not in the plan", o.Trial)
	case o.Scene != t.Scene:
		return fmt.Errorf("trial %s is of scene %.40q in the plan, and of %.40q here", o.Trial, t.Scene, o.Scene)
	case o.Block != t.Block:
		return fmt.Errorf("trial %s is of block %d in the plan, and of %d here", o.Trial, t.Block, o.Block)
	}
	if err := checkAll(o); err != nil {
		return err
	}
	if d := r.plan.Disturbed; o.Repeat < 0 || o.Repeat > 0 && (d == nil || o.Repeat > d.Repeats) {
		return fmt.Errorf("trial %s is its repeat %d, which the plan does not allow", o.Trial, o.Repeat)
	}
	err := errors.Join(bench.CheckInstant(o.Origin), span("window", o.Window[0], o.Window[1]))
	for _, p := range o.Phases {
		err = errors.Join(err, checkWord("phase", p.Name, phases...), span("phase "+p.Name, p.Start, p.End))
		if err != nil {
			return err
		}
	}
	for _, x := range o.Refused {
		if err := errors.Join(err, checkWord("level", x.Level, bench.Levels...)); err != nil {
			return err
		}
	}
	if c := o.Density; c != nil {
		err = errors.Join(err, boundDensity(c))
	}
	if w := o.Watch; w != nil && (w.Available < 0 || w.Available > bench.MaxMemory || w.Peak < 0) {
		err = errors.Join(err, fmt.Errorf("watch: %v of memory available, %d tasks", w.Available, w.Peak))
	}
	if p := o.Pool; p != nil && (min(p.Memory, p.Used, p.Swapped) < 0 || max(p.Memory, p.Used, p.Swapped) > bench.MaxMemory) {
		err = errors.Join(err, fmt.Errorf("pool: %v with %v used and %v swapped", p.Memory, p.Used, p.Swapped))
	}
	actors := r.actors(t.Scene)
	seen := map[string]bool{}
	for i := range o.Actors {
		a := &o.Actors[i]
		if !actors[a.Actor] || seen[a.Actor] {
			return fmt.Errorf("actor %.40q is not in the scene, or there twice", a.Actor)
		}
		seen[a.Actor] = true
		if err := boundActor(a); err != nil {
			return fmt.Errorf("actor %s: %w", a.Actor, err)
		}
	}
	return err
}

// span is an error unless what begins and ends there can be true.
func span(what string, start, end int64) error {
	if err := errors.Join(bench.CheckInstant(start), bench.CheckInstant(end)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if end < start && end != 0 { // 0: it was not reached
		return fmt.Errorf("%s: it ends at %d ns, before it begins at %d", what, end, start)
	}
	return nil
}

func checkCPUs(cpus []int) error {
	if len(cpus) > maxCPUs {
		return fmt.Errorf("%d CPUs in a set: at most %d", len(cpus), maxCPUs)
	}
	for _, c := range cpus {
		if c < 0 || c >= maxCPUs {
			return fmt.Errorf("CPU %d in a set: from 0 to %d", c, maxCPUs-1)
		}
	}
	return nil
}

func boundActor(a *bench.ActorOutcome) error {
	err := errors.Join(checkCPUs(a.CPUSet), checkRole(a.Role), checkNames("it", a.Host, a.Platform.String(), a.Version, a.Label),
		bench.CheckInstant(a.ClockOffset), bench.CheckInstant(a.ClockUncertainty))
	if s := a.StartUp; s != nil {
		for _, p := range slices.Concat(s.Phases, s.Own) {
			err = errors.Join(err, span("start-up", p.Start, p.End), bench.CheckInstant(p.Known))
			if err != nil {
				return err
			}
		}
		err = errors.Join(err, s.Check())
	}
	if c := a.Clock; c != nil {
		err = errors.Join(err, bench.CheckInstant(c.At), bench.CheckInstant(c.Offset), bench.CheckInstant(c.Uncertainty))
	}
	if b := a.Balloon; b != nil && (min(b.Target, b.Actual, b.Before, b.After) < 0 || max(b.Target, b.Actual, b.Before, b.After) > bench.MaxMemory) {
		err = errors.Join(err, fmt.Errorf("balloon from %v to %v", b.Before, b.After))
	}
	for _, h := range a.Histograms {
		err = errors.Join(err, h.Check(), checkNames("histogram", h.Name, h.Grid))
	}
	for _, s := range a.Series {
		err = errors.Join(err, s.Check(), checkNames("series", s.Metric))
	}
	if a.CPUsSeen < 0 || a.CPUsSeen > math.MaxInt32 {
		err = errors.Join(err, fmt.Errorf("%d CPUs seen", a.CPUsSeen))
	}
	return err
}

func boundDensity(c *bench.Density) error {
	const most = 1 << 22 // tasks the kernel allows at the most
	err := checkWord("limit of the ramp", c.Limit, "", bench.LimitCount, bench.LimitMemory, bench.LimitPids, bench.LimitTime, bench.LimitLaunch)
	for _, s := range c.Steps {
		if s.Instances < 0 || s.Instances > most || s.Processes < 0 || s.Processes > most {
			return fmt.Errorf("step of the ramp: %d instances, %d processes", s.Instances, s.Processes)
		}
		if err := errors.Join(err, span("step of the ramp", s.Start, s.End)); err != nil {
			return err
		}
	}
	return err
}

// actors are those of a scene, by name.
func (r *Run) actors(scene string) map[string]bool {
	actors := map[string]bool{}
	if s := r.plan.Scene(scene); s != nil {
		for _, a := range s.Actors {
			actors[a.Name] = true
		}
	}
	return actors
}

// boundSamples is the check of each sample of a trial, in order.
func (r *Run) boundSamples(trial string) (func(*bench.Sample) error, error) {
	t, ok := r.planned[trial]
	if !ok {
		return nil, fmt.Errorf("trial %.40q is not in the plan", trial)
	}
	actors := r.actors(t.Scene)
	actors[""] = true
	return func(s *bench.Sample) error {
		if !actors[s.Actor] {
			return fmt.Errorf("actor %.40q is not in the scene", s.Actor)
		}
		return s.Check()
	}, nil
}

// Package overhead turns the outcomes and samples of a run into tables of
// effects: what each platform costs compared with the baseline, how sure that
// is, and where on the host the cost is paid.
package overhead

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/stop"
	"tare/internal/store"
)

// study is what is gathered from a run on the way to its Result.
type study struct {
	options Options
	run     *store.Run
	plan    *bench.Plan
	// last is each trial's final outcome, or its aborted one if it has no other.
	last map[string]*bench.Outcome
	// scenes are the trials of a scene in the plan's order.
	scenes map[string][]bench.Trial
	labels map[string]string // by platform
	ends   *stop.Ends
	result *result.Result
}

// Analyze reads a run, finished or not, and works out everything a report
// shows. It streams the samples: its memory does not grow with their number,
// but for 24 bytes each. Samples that cannot be read cost the usage of their trial,
// which a warning says; an outcome that cannot be read is an error.
func Analyze(r *store.Run) (*result.Result, error) { return AnalyzeWith(r, Options{}) }

// AnalyzeWith is [Analyze] with options.
func AnalyzeWith(r *store.Run, options Options) (*result.Result, error) {
	s := &study{options: options, run: r, plan: r.Plan(), last: map[string]*bench.Outcome{}, scenes: map[string][]bench.Trial{}, labels: map[string]string{}}
	if err := s.readOutcomes(); err != nil {
		return nil, fmt.Errorf("analyze run: %w", err)
	}
	s.ends = stop.Replay(s.plan, s.last)
	s.dropNotNeeded()
	h, p := r.Header(), s.plan
	s.result = &result.Result{
		Format: result.Format, Run: h.Run, Experiment: p.Experiment, Repeat: s.repeat(), Title: p.Title, Question: p.Question,
		Started: h.Started, Seconds: s.seconds(), Seed: p.Seed, Baseline: p.Baseline, Margin: p.Margin,
		Blocks: p.Blocks, Trials: s.counts(), Skipped: p.Skipped, Image: h.Image,
		Warnings: append([]string{}, p.Warnings...), HostFacts: hostFacts(r.Host()),
		Method: fmt.Sprintf("geometric mean of the ratios to %s paired by block, with a 95 %% studentized bootstrap interval (%d resamples; Student's t below 5 blocks)",
			p.Baseline, stats.Resamples),
		Until: p.Until, Stops: s.ends.Cases,
	}
	if p.Until != nil {
		s.result.Method += fmt.Sprintf("; since a case may end after any of %d looks, each interval is made at the higher level that leaves 95 %% over all of them", len(p.Until.Looks))
	}
	s.result.Complete = s.result.Trials.Missing == 0
	if n := len(r.Torn()); n > 0 {
		s.warn("the last %d bytes of trials.jsonl are a line that was never finished; its trial counts as missing", n)
	}
	s.mixed()
	s.platforms()
	s.failures()
	s.layout()
	observed := s.samples()
	s.result.Observer = observed.observer()
	s.clocks()
	s.result.Procedure = s.procedure()
	s.cases(observed)
	s.relative(observed)
	s.watches()
	s.power(observed.powers, observed)
	s.result.Sweeps = sweeps(s.result.Cases, s.plan)
	s.overTheTable()
	s.warnOfOtherWork()
	if trial := s.representative(observed); trial != "" {
		series, err := SeriesOf(r, trial)
		if err != nil {
			s.warn("no time series: %v", err)
		}
		s.result.Series = series
	}
	return s.result, nil
}

// mixed says which trials are not of the host and the program that the run began with.
func (s *study) mixed() {
	m := &result.Mixed{}
	for _, t := range s.plan.Trials {
		o := s.last[t.ID]
		if o == nil || len(o.Mixed) == 0 {
			continue
		}
		m.Trials++
		for _, d := range o.Mixed {
			if !slices.Contains(m.Differs, d) {
				m.Differs = append(m.Differs, d)
			}
		}
	}
	if m.Trials == 0 {
		return
	}
	s.result.Mixed = m
	s.warn("trials are mixed: %d of %d were measured when the run had been resumed under other conditions (%s); ratios and their intervals may be of that difference, too",
		m.Trials, len(s.plan.Trials), strings.Join(m.Differs, "; "))
}

// quietRest is how many cores the rest of a quiet host uses at the most while a
// network test keeps its interrupts busy: 0.2 was measured on two CPUs.
const quietRest = 0.3

// warnOfOtherWork says when something besides the trials kept the host busy.
func (s *study) warnOfOtherWork() {
	worst, where := 0.0, ""
	cases := 0
	for _, c := range s.result.Cases {
		busy := false
		for i := range c.Usage {
			u := &c.Usage[i]
			if u.RestCPU.Known && u.RestCPU.Value > quietRest {
				busy = true
				if u.RestCPU.Value > worst {
					worst, where = u.RestCPU.Value, c.Title+" on "+u.Platform
				}
			}
		}
		if busy {
			cases++
		}
	}
	if cases > 0 {
		s.warn("other work kept the host busy: %.2f cores during %s, and more than %.1f in %d of %d cases; ratios scatter more than they would on a quiet host",
			worst, where, quietRest, cases, len(s.result.Cases))
	}
}

func (s *study) warn(format string, args ...any) {
	s.result.Warnings = append(s.result.Warnings, fmt.Sprintf(format, args...))
}

func (s *study) readOutcomes() error {
	for _, t := range s.plan.Trials {
		s.scenes[t.Scene] = append(s.scenes[t.Scene], t)
	}
	for o, err := range s.run.Outcomes() {
		if err != nil {
			return err
		}
		s.last[o.Trial] = o
	}
	return nil
}

// dropNotNeeded takes the trials beyond the end of their scene out of it.
func (s *study) dropNotNeeded() {
	for id, trials := range s.scenes {
		s.scenes[id] = slices.DeleteFunc(trials, func(t bench.Trial) bool { return !s.ends.Needs(t) })
	}
}

// done returns the outcomes of a scene's finished launches in block order.
func (s *study) done(scene string) []*bench.Outcome {
	var out []*bench.Outcome
	for _, t := range s.scenes[scene] {
		if o := s.last[t.ID]; o != nil && o.Status == bench.Done {
			out = append(out, o)
		}
	}
	return out
}

func (s *study) counts() result.Counts {
	c := result.Counts{Planned: len(s.plan.Trials)}
	for _, t := range s.plan.Trials {
		o := s.last[t.ID]
		switch {
		case o == nil:
		case o.Status == bench.Done:
			c.Done++
		case o.Status == bench.Failed:
			c.Failed++
		case o.Status == bench.DidNotFinish:
			c.DNF++
		case o.Status == bench.Overdue:
			c.Overdue++
		default:
			c.Aborted++
		}
	}
	needed := 0
	for _, trials := range s.scenes {
		needed += len(trials)
	}
	c.NotNeeded = c.Planned - needed
	c.Missing = needed - c.Done - c.Failed - c.DNF - c.Overdue
	return c
}

// seconds is the wall time of all trials with the pauses after them.
func (s *study) seconds() float64 {
	var sum time.Duration
	for _, t := range s.plan.Trials {
		o := s.last[t.ID]
		if o == nil || len(o.Phases) == 0 {
			continue
		}
		sum += time.Duration(o.Phases[len(o.Phases)-1].End - o.Phases[0].Start)
		if o.Phases[len(o.Phases)-1].Name != "cooldown" {
			sum += s.plan.Scene(t.Scene).Timing.Cooldown
		}
	}
	return sum.Seconds()
}

func (s *study) platforms() {
	seen := map[string]bool{}
	for i := range s.plan.Scenes {
		ref := s.plan.Scenes[i].Platform
		name := ref.String()
		if seen[name] {
			continue
		}
		seen[name] = true
		found := s.run.Header().Platforms[ref.Driver()]
		p := result.Platform{Name: name, Version: found.Version, Label: found.Label}
		for _, t := range s.plan.Trials {
			o := s.last[t.ID]
			if o == nil || s.plan.Scene(t.Scene).Platform.String() != name {
				continue
			}
			for _, a := range o.Actors {
				if a.Role != bench.Subject || a.Version == "" {
					continue
				}
				if p.Version != "" && p.Version != a.Version {
					s.warn("%s changed from version %s to %s during the run: its figures mix the two", name, p.Version, a.Version)
				}
				p.Version, p.Label, p.Caveats = a.Version, wearing(a.Label, a.Caveats), a.Caveats
				if a.Kernel != "" {
					p.Kernel = a.Kernel
				}
			}
		}
		s.labels[name] = p.Label
		s.result.Platforms = append(s.result.Platforms, p)
	}
}

func hostFacts(h *host.Facts) []result.Fact {
	out := []result.Fact{}
	for _, l := range h.Lines() {
		out = append(out, result.Fact(l))
	}
	return out
}

func (s *study) failures() {
	for _, t := range s.plan.Trials {
		o := s.last[t.ID]
		if o == nil || o.Status == bench.Done || o.Status == bench.Aborted {
			continue
		}
		f := result.Failure{Trial: t.ID, Scene: t.Scene, Platform: s.plan.Scene(t.Scene).Platform.String(),
			Phase: o.Phase, Error: o.Error, Hint: o.Hint}
		for _, a := range o.Actors {
			if a.Log != "" && (f.Log == "" || a.Role == bench.Subject) {
				f.Log = a.Log
			}
		}
		switch o.Status {
		case bench.DidNotFinish:
			s.result.Unfinished = append(s.result.Unfinished, f)
		case bench.Overdue:
			s.result.Overdue = append(s.result.Overdue, f)
		default:
			s.result.Failures = append(s.result.Failures, f)
		}
	}
}

func (s *study) layout() {
	for i := range s.plan.Scenes {
		if sc := &s.plan.Scenes[i]; sc.Ramp != nil {
			s.result.Layout = append(s.result.Layout, crowdPlace(sc))
			continue
		}
		for _, a := range s.plan.Scenes[i].Actors {
			s.result.Layout = append(s.result.Layout, result.Placement{Scene: s.plan.Scenes[i].ID, Actor: a.Name, Role: a.Role, CPUSet: a.CPUSet})
		}
	}
}

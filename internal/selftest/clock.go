package selftest

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// clockCases are an instance that leaves its CPU alone and one that does not.
var clockCases = map[string]string{
	"idle": `
  - name: idle
    title: A clock in an instance at rest
    workload: command
    params: {argv: [sleep, "2"]}`,
	"busy": `
  - name: busy
    title: A clock in a busy instance
    workload: command
    params: {argv: [sysbench, cpu, --time=2, --events=0, run]}`,
}

// ClockCases lists the cases of the clocks.
func ClockCases() []string { return []string{"idle", "busy"} }

// ClockSpec writes the experiment in which clocks are compared.
func ClockSpec(platforms, names []string, blocks int) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "name: selftest-clock\ntitle: How well are the clocks inside known?\nplatforms: [%s]\n", quoted(platforms))
	fmt.Fprintf(&b, "baseline: %q\nshape: {cpus: 1, memory: 256MiB, disk: 256MiB}\n", platforms[0])
	fmt.Fprintf(&b, "timing: {warmup: 0s, measure: 2s, cooldown: 0s}\nblocks: %d\nscenes:", blocks)
	for _, n := range names {
		text, ok := clockCases[n]
		if !ok {
			return nil, fmt.Errorf("%w: %w", bench.UnknownWord("case", n, ClockCases()), bench.ErrInvalid)
		}
		b.WriteString(text)
	}
	b.WriteString("\n")
	return []byte(b.String()), nil
}

// What is promised of a clock's bound, in nanoseconds.
var (
	sharedBound = int64(1e6 * Promises[ContainerClock].Limit) // where the host's kernel is shared
	ownBound    = int64(1e6 * Promises[MachineClock].Limit)   // where it is not
)

// Clock is how well the clocks of instances are known.
type Clock struct {
	Rows []ClockRow `json:"rows"`
	// Containers and VMs are the launches whose bound is within what is promised.
	Containers Proportion `json:"containers"`
	VMs        Proportion `json:"vms"`
	// Held are the launches, of instances that share the host's clock, whose fit
	// lies nowhere further from that clock than its bound.
	Held Proportion `json:"held"`
	// Agree are the bursts that the fit of a launch's others does not contradict.
	Agree Proportion  `json:"agree"`
	Steps []ClockStep `json:"steps"`
}

// ClockRow is one platform in one case. Times are in milliseconds.
type ClockRow struct {
	Platform string     `json:"platform"`
	Label    string     `json:"label,omitempty"`
	Case     string     `json:"case"`
	Launches int        `json:"launches"`
	Faults   int        `json:"faults"` // clocks that could not be trusted
	Refused  int        `json:"refused"`
	Median   float64    `json:"median_bound_ms"`
	Worst    float64    `json:"worst_bound_ms"`
	Within   Proportion `json:"within"`
	// Error is the largest distance of a fit from the truth, where that is known.
	Error *float64   `json:"worst_error_ms,omitempty"`
	Held  Proportion `json:"held"`
	Agree Proportion `json:"agree"`
}

// ClockStep is a step put into what was measured, at each place between two bursts.
type ClockStep struct {
	Size     float64    `json:"size_ms"`
	Platform string     `json:"platform"`
	Found    Proportion `json:"found"`
}

// clockSteps are the steps put in.
var clockSteps = []time.Duration{time.Second, 10 * time.Millisecond, 3 * time.Millisecond}

// counted is k of n.
type counted struct{ k, n int }

func (c *counted) add(held bool) {
	c.n++
	if held {
		c.k++
	}
}

func (c *counted) proportion() Proportion { return proportion(c.k, c.n) }

// FitClock places a clock by its probes.
type FitClock func([]bench.ClockProbe) bench.ClockFit

// EvaluateClock reads how well the clocks were known, and puts steps into them.
func EvaluateClock(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error], fit FitClock) (*Clock, error) {
	c := &Clock{}
	var containers, vms, held, agree counted
	steps := map[string]*counted{}
	tallies := map[string]*clockTally{}
	for o, err := range outcomes {
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		s := p.Scene(o.Scene)
		if s == nil {
			return nil, fmt.Errorf("evaluate: trial %s names scene %q, which is not in the plan", o.Trial, o.Scene)
		}
		if o.Status != bench.Done {
			continue
		}
		for i := range o.Actors {
			a := &o.Actors[i]
			if a.Clock == nil || a.Scope == nil {
				continue
			}
			t := tallies[s.ID]
			if t == nil {
				t = &clockTally{}
				tallies[s.ID] = t
			}
			t.add(o, a, fit)
			for _, size := range clockSteps {
				key := s.Platform.String() + "/" + size.String()
				if steps[key] == nil {
					steps[key] = &counted{}
				}
				steppedFit(a.Clock.Probes, size, fit, steps[key])
			}
		}
	}
	var platforms []string
	for i := range p.Scenes {
		s := &p.Scenes[i]
		t := tallies[s.ID]
		if t == nil {
			continue
		}
		c.Rows = append(c.Rows, t.row(s))
		if name := s.Platform.String(); !slices.Contains(platforms, name) {
			platforms = append(platforms, name)
		}
		into := &containers
		if t.own {
			into = &vms
		}
		for _, sum := range []struct{ from, to *counted }{{&t.within, into}, {&t.held, &held}, {&t.agree, &agree}} {
			sum.to.k += sum.from.k
			sum.to.n += sum.from.n
		}
	}
	c.Containers, c.VMs, c.Held, c.Agree = containers.proportion(), vms.proportion(), held.proportion(), agree.proportion()
	for _, name := range platforms {
		for _, size := range clockSteps {
			c.Steps = append(c.Steps, ClockStep{milli(float64(size)), name, steps[name+"/"+size.String()].proportion()})
		}
	}
	return c, nil
}

// clockTally counts over the launches of a scene.
type clockTally struct {
	own                 bool
	label               string
	launches            int
	faults, refused     int
	bounds              []float64
	within, held, agree counted
	worst               float64
}

func (t *clockTally) add(o *bench.Outcome, a *bench.ActorOutcome, fit FitClock) {
	f := a.Clock
	t.own, t.label = a.Scope.OwnKernel, a.Label
	t.launches++
	bound := sharedBound
	if t.own {
		bound = ownBound
	}
	t.within.add(f.Fault == "" && f.Uncertainty <= bound)
	t.bounds = append(t.bounds, milli(float64(f.Uncertainty)))
	if f.Fault != "" {
		t.faults++
	}
	for _, r := range o.Refused {
		if r.Actor == a.Actor && r.Level == bench.Guest {
			t.refused++
		}
	}
	if !t.own { // the clock is the host's own: the true offset is 0 throughout
		off := 0.0
		for _, p := range f.Probes {
			off = max(off, math.Abs(offsetAt(f, p.At)))
		}
		t.worst = max(t.worst, milli(off))
		t.held.add(off <= float64(f.Uncertainty))
	}
	// The truth lies within each burst's own uncertainty. A fit that has not
	// seen a burst must leave room for it.
	for i := 1; i+1 < len(f.Probes); i++ {
		others := fit(slices.Delete(slices.Clone(f.Probes), i, i+1))
		p := f.Probes[i]
		t.agree.add(math.Abs(offsetAt(&others, p.At)-float64(p.Offset)) <= float64(others.Uncertainty+p.Uncertainty))
	}
}

func (t *clockTally) row(s *bench.Scene) ClockRow {
	r := ClockRow{Platform: s.Platform.String(), Label: t.label, Case: s.Case, Launches: t.launches, Faults: t.faults, Refused: t.refused,
		Median: stats.Median(t.bounds), Worst: slices.Max(t.bounds), Within: t.within.proportion(), Held: t.held.proportion(), Agree: t.agree.proportion()}
	if !t.own {
		r.Error = &t.worst
	}
	return r
}

// steppedFit puts a step of the size before each burst but the first and counts
// how often the fit finds it.
func steppedFit(probes []bench.ClockProbe, size time.Duration, fit FitClock, found *counted) {
	for from := 1; from < len(probes); from++ {
		moved := slices.Clone(probes)
		for i := from; i < len(moved); i++ {
			moved[i].Offset += int64(size)
		}
		f := fit(moved)
		found.add(f.Fault != "")
	}
}

// offsetAt is the fit's offset at an instant of the host, in nanoseconds.
func offsetAt(f *bench.ClockFit, at int64) float64 {
	return float64(f.Offset) + f.Drift*float64(at-f.At)/1e9
}

func milli(ns float64) float64 { return ns / 1e6 }

// enoughLaunches is from how many on the finding is kept as whole.
const enoughLaunches = 60

// Finding is the part's section of the certificate; done says that all of the
// run was measured.
func (c *Clock) Finding(done bool) *Finding {
	f := &Finding{Part: PartClock, Unit: "launches", Data: c}
	for _, r := range c.Rows {
		f.Size += r.Launches
	}
	f.Complete = done && f.Size >= enoughLaunches
	if f.Size < enoughLaunches {
		f.Short = fmt.Sprintf("fewer than %d", enoughLaunches)
	}
	if c.Containers.N > 0 {
		f.Claims = append(f.Claims,
			Claim{Promises[ContainerClock].Claim(), c.Containers.String() + " of the launches", atAll(c.Containers)},
			Claim{Promises[ClockBound].Claim(), c.Held.String() + " of the launches", atAll(c.Held)})
	}
	if c.VMs.N > 0 {
		f.Claims = append(f.Claims, Claim{Promises[MachineClock].Claim(), c.VMs.String() + " of the launches", atAll(c.VMs)})
	}
	if c.Agree.N > 0 {
		f.Claims = append(f.Claims, Claim{Promises[ClockFit].Claim(), c.Agree.String() + " of the bursts", atAll(c.Agree)})
	}
	f.Claims = append(f.Claims, c.stepped())
	f.Tables = []Table{c.table(), c.stepTable()}
	return f
}

// surely is the share that the interval of what is promised of every case must
// exceed before it is said to hold: 36 cases of 36.
const surely = 0.9

// atAll judges what is promised of every case.
func atAll(p Proportion) Held {
	switch {
	case p.K < p.N:
		return No
	case p.Low < surely:
		return Open
	}
	return Yes
}

// stepped judges the steps of a second.
func (c *Clock) stepped() Claim {
	var all counted
	for _, s := range c.Steps {
		if s.Size == 1000*Promises[StepFound].Limit {
			all.k += s.Found.K
			all.n += s.Found.N
		}
	}
	p := all.proportion()
	return Claim{Promises[StepFound].Claim(), p.String() + " of the steps put in", atAll(p)}
}

func (c *Clock) table() Table {
	t := Table{Title: "How well the clocks inside are known",
		Note: "Bounds of launches, in ms. Containers have the host's own clock, so their true offset is 0: the error is the fit's distance from that, " +
			"and held counts the launches whose bound covers it. Agree counts the bursts during the measurement that the fit of the launch's others does not contradict.",
		Head: []string{"platform", "case", "launches", "median bound", "worst bound", "error", "held", "agree", "faults", "refused"}}
	for _, r := range c.Rows {
		off, held := "not known", ""
		if r.Error != nil {
			off, held = fmt.Sprintf("%.4f", *r.Error), r.Held.String()
		}
		t.Rows = append(t.Rows, []string{result.Labelled(r.Platform, r.Label), r.Case, fmt.Sprint(r.Launches), fmt.Sprintf("%.3f", r.Median), fmt.Sprintf("%.3f", r.Worst),
			off, held, r.Agree.String(), fmt.Sprint(r.Faults), fmt.Sprint(r.Refused)})
	}
	return t
}

func (c *Clock) stepTable() Table {
	t := Table{Title: "Steps put into the bursts that were measured",
		Note: "Each launch's clock is moved before each of its bursts but the first, and fitted again. What 500 ppm of drift and the uncertainties of two bursts allow " +
			"is not taken for a step, so that small ones pass.",
		Head: []string{"platform", "step", "found"}}
	for _, s := range c.Steps {
		t.Rows = append(t.Rows, []string{s.Platform, fmt.Sprintf("%g ms", s.Size), s.Found.String()})
	}
	return t
}

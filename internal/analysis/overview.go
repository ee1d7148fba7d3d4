package analysis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/stop"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
)

// warnings are what a reader of the result must know of it.
type warnings []string

// add adds one.
func (w *warnings) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// mixed says which trials are not of the host and the program that the run began with; nil for none.
func mixed(trials []launch) *result.Mixed {
	m := &result.Mixed{}
	for _, t := range trials {
		if t.outcome == nil || len(t.outcome.Mixed) == 0 {
			continue
		}
		m.Trials++
		for _, d := range t.outcome.Mixed {
			if !slices.Contains(m.Differs, d) {
				m.Differs = append(m.Differs, d)
			}
		}
	}
	if m.Trials == 0 {
		return nil
	}
	return m
}

// ofMixed says of how many of the trials that were made the figures may be of other conditions.
func (w *warnings) ofMixed(m *result.Mixed, trials []launch) {
	if m == nil {
		return
	}
	w.add("trials are mixed: %d of %d were measured when the run had been resumed under other conditions (%s); ratios and their intervals may be of that difference, too",
		m.Trials, made(trials), strings.Join(m.Differs, "; "))
}

// made counts the trials that were launched to an end.
func made(trials []launch) int {
	n := 0
	for _, t := range trials {
		if t.outcome != nil && t.outcome.Status.Final() {
			n++
		}
	}
	return n
}

// quietIdle is how many cores the rest of a quiet host uses at the most while a
// network test keeps its interrupts busy: 0.2 was measured on two CPUs.
const quietIdle = 0.3

// ofOtherWork says when something besides the trials kept the host busy.
func (w *warnings) ofOtherWork(all []result.Case) {
	worst, where := 0.0, ""
	cases := 0
	for _, c := range all {
		busy := false
		for i := range c.Usage {
			u := &c.Usage[i]
			if u.OtherCPU.Known && u.OtherCPU.Value > quietIdle {
				busy = true
				if u.OtherCPU.Value > worst {
					worst, where = u.OtherCPU.Value, c.Title+" on "+u.Platform
				}
			}
		}
		if busy {
			cases++
		}
	}
	if cases > 0 {
		w.add("other work kept the host busy: %.2f cores during %s, and more than %.1f in %d of %d cases; ratios scatter more than they would on a quiet host",
			worst, where, quietIdle, cases, len(all))
	}
}

// counts counts the trials by what became of them.
func counts(trials []launch, scenes []*launches, ends *stop.Ends) result.Counts {
	c := result.Counts{Planned: len(trials)}
	for _, t := range trials {
		if !ends.Needs(t.Trial) {
			c.NotNeeded++
		}
		switch o := t.outcome; {
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
	for _, l := range scenes {
		c.Asked += len(l.asked)
	}
	c.Missing = c.Asked - c.Done - c.Failed - c.DNF - c.Overdue
	return c
}

// seconds is the wall time of all trials with the pauses after them.
func seconds(trials []launch) float64 {
	var sum time.Duration
	for _, t := range trials {
		if t.outcome == nil || len(t.outcome.Phases) == 0 {
			continue
		}
		phases := t.outcome.Phases
		last := phases[len(phases)-1]
		sum += time.Duration(last.End - phases[0].Start)
		if last.Name != "cooldown" {
			sum += t.scene.Timing.Cooldown
		}
	}
	return sum.Seconds()
}

// hostFacts are the facts of the host, in the order to show.
func hostFacts(h *host.Facts) []result.Fact {
	out := []result.Fact{}
	for _, l := range h.Lines() {
		out = append(out, result.Fact(l))
	}
	return out
}

// failures are the trials that came to no figures, by what that says.
func failures(trials []launch) (failed, unfinished, overdue []result.Failure) {
	for _, t := range trials {
		o := t.outcome
		if o == nil || o.Status == bench.Done || o.Status == bench.Aborted {
			continue
		}
		f := result.Failure{Trial: t.ID, Scene: t.Scene, Platform: t.scene.Platform.String(), Phase: o.Phase, Error: o.Error, Hint: o.Hint}
		for _, a := range o.Actors {
			if a.Log != "" && (f.Log == "" || a.Role == bench.Subject) {
				f.Log = a.Log
			}
		}
		switch o.Status {
		case bench.DidNotFinish:
			unfinished = append(unfinished, f)
		case bench.Overdue:
			overdue = append(overdue, f)
		default:
			failed = append(failed, f)
		}
	}
	return failed, unfinished, overdue
}

// also are where the CPUs lie in other blocks than the first.
func also(p *bench.Plan, cpus []int) (other [][]int) {
	first := p.CPUsIn(1, cpus)
	for b := range p.Exchanged {
		at := p.CPUsIn(b+1, cpus)
		if !slices.Equal(at, first) && !slices.ContainsFunc(other, func(c []int) bool { return slices.Equal(c, at) }) {
			other = append(other, at)
		}
	}
	return other
}

// layout says where each actor may run.
func layout(p *bench.Plan) []result.Placement {
	var all []result.Placement
	for i := range p.Scenes {
		sc := &p.Scenes[i]
		if sc.Ramp != nil {
			all = append(all, densityPlace(sc))
			continue
		}
		for _, a := range sc.Actors {
			if a.Away() {
				continue // it has CPUs of another host
			}
			all = append(all, result.Placement{Scene: sc.ID, Actor: a.Name, Role: a.Role, CPUSet: p.CPUsIn(1, a.CPUSet), Also: also(p, a.CPUSet)})
		}
	}
	return all
}

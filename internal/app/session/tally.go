package session

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/run"
)

// Tally counts, from the events of a run, what of it is done, what is left, and what was
// found so far.
type Tally struct {
	Done    int           // trials that have their outcome
	Failed  int           // of those that ended here
	Now     run.Event     // of the trial that runs
	TrialAt time.Time     // when that began
	Took    time.Duration // of the trial that ended last; 0 if its platform was given up

	plan     *bench.Plan
	spent    time.Duration              // by the trials that ended
	next     int                        // place in the plan of the first trial not begun
	ended    map[string]int             // blocks of the scenes whose stopping rule ended them
	took     map[string][]time.Duration // of finished trials, by scene
	values   map[string]map[int]float64 // headline value by scene and block
	headline map[string]bench.Metric    // by case
}

// NewTally begins with so many trials finished, and so much of a budget spent.
func NewTally(p *bench.Plan, finished int, spent time.Duration) *Tally {
	t := &Tally{Done: finished, next: finished, plan: p, spent: spent, ended: map[string]int{}, took: map[string][]time.Duration{},
		values: map[string]map[int]float64{}, headline: map[string]bench.Metric{}}
	for name, ms := range p.Metrics {
		for _, m := range ms {
			if _, ok := t.headline[name]; m.Headline || !ok {
				t.headline[name] = m
			}
			if m.Headline {
				break
			}
		}
	}
	return t
}

// Take takes an event. It returns what became of a trial in a few words, "" if none ended.
func (t *Tally) Take(e run.Event) string {
	switch {
	case e.Waits != "":
		return ""
	case e.Ended != "":
		t.ended[e.Ended] = e.Trial.Block
		return ""
	case e.Outcome == nil:
		if t.Now.Trial.ID != e.Trial.ID {
			t.TrialAt = time.Now()
		}
		t.Now = e
		return ""
	}
	if !e.Again {
		t.Done++
	}
	t.next = max(t.next, e.Index+1)
	t.Took = time.Since(t.TrialAt)
	if e.Outcome.GivenUp != "" {
		t.Took = 0
	}
	t.took[e.Scene.ID] = append(t.took[e.Scene.ID], t.Took)
	t.spent += t.Took
	result := t.record(e)
	switch e.Outcome.Status {
	case bench.Done:
	case bench.Aborted: // why the run ends is said at its end
		result = "stopped in " + string(e.Outcome.Phase)
	default:
		if e.Outcome.Status == bench.Failed { // others are results
			t.Failed++
		}
		why, _, _ := strings.Cut(e.Outcome.Error, "\n")
		result = fmt.Sprintf("%s in %s: %s", e.Outcome.Status, e.Outcome.Phase, why)
	}
	if e.Again {
		result += ", to be repeated: " + e.Outcome.Disturbed
	}
	return result
}

// record keeps the scene's headline value and says it.
func (t *Tally) record(e run.Event) string {
	m, ok := t.headline[e.Scene.Case]
	if !ok {
		return "done"
	}
	for _, v := range e.Outcome.Values {
		if v.Metric == m.Name {
			if t.values[e.Scene.ID] == nil {
				t.values[e.Scene.ID] = map[int]float64{}
			}
			t.values[e.Scene.ID][e.Trial.Block] = v.Value
			return m.Name + " " + figure.Quantity(v.Value, m.Unit)
		}
	}
	return "done"
}

// needed reports whether a trial is, as far as is known.
func (t *Tally) needed(trial bench.Trial) bool {
	blocks, ended := t.ended[trial.Scene]
	return !ended || trial.Block <= blocks
}

// Bound is "≤" while a stopping rule may still make trials unnecessary, and "≈" where its budget
// does not suffice for the others.
func (t *Tally) Bound() string {
	if t.plan.Until != nil {
		for _, s := range t.plan.Scenes {
			if _, ended := t.ended[s.ID]; !ended {
				if t.Trials() < t.most() {
					return "≈"
				}
				return "≤"
			}
		}
	}
	return ""
}

// most is how many trials are needed if no time is used up.
func (t *Tally) most() int {
	n := 0
	for _, trial := range t.plan.Trials {
		if t.needed(trial) {
			n++
		}
	}
	return n
}

// Trials is how many are needed, at most, or those that a budget has room for by what like ones took.
func (t *Tally) Trials() int {
	u := t.plan.Until
	if u == nil || u.Budget <= 0 {
		return t.most()
	}
	n, sum := t.Done, t.spent
	for _, trial := range t.plan.Trials[min(t.next, len(t.plan.Trials)):] {
		if !t.needed(trial) {
			continue
		}
		if sum += t.takes(trial); trial.Block > u.Min && sum > u.Budget {
			break
		}
		n++
	}
	return n
}

// Left estimates the time to the end from what like trials took so far, and
// from the plan where there were none. A budget is what is left of it, but for the
// blocks that are run whatever they take.
func (t *Tally) Left() time.Duration {
	all := t.leftOf(t.plan.Blocks)
	if u := t.plan.Until; u != nil && u.Budget > 0 {
		return max(t.leftOf(u.Min), min(all, u.Budget-t.spent))
	}
	return all
}

// leftOf is the time for what is left of the first blocks.
func (t *Tally) leftOf(blocks int) time.Duration {
	var sum time.Duration
	for _, trial := range t.plan.Trials[min(t.next, len(t.plan.Trials)):] {
		if trial.Block > blocks || !t.needed(trial) {
			continue
		}
		sum += t.takes(trial)
	}
	return sum
}

// takes is the time that a trial is expected to take.
func (t *Tally) takes(trial bench.Trial) time.Duration {
	took := t.took[trial.Scene]
	if len(took) == 0 {
		return time.Duration(t.plan.Scene(trial.Scene).Estimate * float64(time.Second))
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return sum / time.Duration(len(took))
}

// mostOpen is how many scenes that go on are named.
const mostOpen = 4

// Standing says at the end of a block how many of the platforms' scenes need no more, which go on, and
// what of a budget is used: "block 5: 7 of 12 need no more; going on: disk/lxc; 3m10s of 7m0s used". It is ""
// without a stopping rule, and before its first look.
func (t *Tally) Standing(block int) string {
	u := t.plan.Until
	if u == nil || block < u.Min {
		return ""
	}
	all, enough := 0, 0
	var open []string
	for _, s := range t.plan.Scenes {
		if s.Control || s.Platform.String() == t.plan.Baseline && s.Relative == nil {
			continue
		}
		all++
		if _, ended := t.ended[s.ID]; ended {
			enough++
		} else {
			open = append(open, s.ID)
		}
	}
	text := fmt.Sprintf("block %d: %d of %d need no more", block, enough, all)
	if left := len(open) - mostOpen; left > 1 {
		open = append(open[:mostOpen], fmt.Sprintf("%d more", left))
	}
	if len(open) > 0 {
		text += "; going on: " + strings.Join(open, ", ")
	}
	if u.Budget > 0 {
		text += fmt.Sprintf("; %v of %v used", t.spent.Round(time.Second), u.Budget)
	}
	return text
}

// Through says whether no trial of the first blocks is left that is needed.
func (t *Tally) Through(block int) bool {
	return !slices.ContainsFunc(t.plan.Trials[min(t.next, len(t.plan.Trials)):], func(trial bench.Trial) bool {
		return trial.Block <= block && t.needed(trial)
	})
}

// Effects are the ratios to the baseline so far, a line per case: the geometric
// mean over the blocks both finished, without an interval.
func (t *Tally) Effects() []string {
	byCase := map[string][]string{}
	var order []string
	for _, s := range t.plan.Scenes {
		if s.Platform.String() == t.plan.Baseline {
			continue
		}
		base := t.values[s.Case+"/"+t.plan.Baseline]
		sum, n := 0.0, 0
		for block, v := range t.values[s.ID] {
			b, ok := base[block]
			if s.Turns > 0 { // a value is a ratio to the baseline already
				b, ok = 1, true
			}
			if ok && b > 0 && v > 0 {
				sum += math.Log(v / b)
				n++
			}
		}
		if n == 0 {
			continue
		}
		if byCase[s.Case] == nil {
			order = append(order, s.Case)
		}
		byCase[s.Case] = append(byCase[s.Case], fmt.Sprintf("%s %.3fx", s.Platform, math.Exp(sum/float64(n))))
	}
	var lines []string
	for _, c := range order {
		m := t.headline[c]
		lines = append(lines, fmt.Sprintf("  %-18s %s, %s is better: %s", c, m.Name, m.Better, strings.Join(byCase[c], ", ")))
	}
	return lines
}

package stop

import (
	"iter"
	"time"

	"tare/internal/bench"
)

// budget says whether the time of a plan's rule suffices for what is to come. It
// knows the outcomes and the plan, and no clock.
type budget struct {
	*Outcomes
	ends *Ends
}

// over is the place in the plan of the first trial that is not begun since the
// budget is used up, or -1. It asks about the first family of a block with a trial
// that has no final outcome; one that was begun is finished, and so are the
// blocks of the rule's min.
func (b *budget) over() int {
	u := b.plan.Until
	if u.Budget <= 0 {
		return -1
	}
	trials := b.plan.Trials
	for first := 0; first < len(trials); {
		next := familyEnd(b.plan, first)
		if b.open(first, next) {
			if trials[first].Block > u.Min && !b.begun(first, next) && b.spent+b.cost(first, next) > u.Budget {
				return first
			}
			return -1
		}
		first = next
	}
	return -1
}

// familyEnd is the place after the family of scenes that begins at a place.
func familyEnd(p *bench.Plan, first int) int {
	next := first + 1
	for next < len(p.Trials) && p.Trials[next].Block == p.Trials[first].Block &&
		p.Scene(p.Trials[next].Scene).Family() == p.Scene(p.Trials[first].Scene).Family() {
		next++
	}
	return next
}

// open reports whether a needed trial among these has no final outcome.
func (b *budget) open(first, next int) bool {
	for _, t := range b.plan.Trials[first:next] {
		if b.ends.Needs(t) && !b.final(t) {
			return true
		}
	}
	return false
}

// begun reports whether one of them has a final outcome.
func (b *budget) begun(first, next int) bool {
	for _, t := range b.plan.Trials[first:next] {
		if b.final(t) {
			return true
		}
	}
	return false
}

func (b *budget) final(t bench.Trial) bool {
	o := b.last[t.ID]
	return o != nil && o.Status.Final()
}

// Spent is the time that the trials of a run took, as a budget counts it.
func Spent(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (time.Duration, error) {
	all := NewOutcomes(p)
	for o, err := range outcomes {
		if err != nil {
			return 0, err
		}
		all.Add(o)
	}
	return all.spent, nil
}

// Ahead is what lies before the budget of a run, by what its trials took so far.
type Ahead struct {
	// Owed is what is run whatever the budget: the blocks of the rule's min, and what was begun.
	Owed time.Duration
	// Next is what comes after that and is begun only if the budget has room for it; 0 for nothing.
	Next time.Duration
}

// AheadOf says it of a plan with a rule. An outcome that cannot be read is an error.
func AheadOf(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (Ahead, error) {
	until, plan := *p.Until, *p
	until.Budget, plan.Until = 0, &until // a budget that is used up would leave nothing to come
	p = &plan
	all := NewOutcomes(p)
	for o, err := range outcomes {
		if err != nil {
			return Ahead{}, err
		}
		all.Add(o)
	}
	return (&budget{Outcomes: all, ends: Replay(p, all)}).ahead(), nil
}

func (b *budget) ahead() (a Ahead) {
	trials := b.plan.Trials
	for first := 0; first < len(trials); {
		next := familyEnd(b.plan, first)
		switch {
		case !b.open(first, next):
		case trials[first].Block > b.plan.Until.Min && !b.begun(first, next):
			a.Next = b.cost(first, next)
			return a
		default:
			a.Owed += b.cost(first, next)
		}
		first = next
	}
	return a
}

// cost is the time that the needed trials among these without a final outcome are expected to
// take: what the scene took in the mean so far, or what the plan estimates.
func (b *budget) cost(first, next int) time.Duration {
	var sum time.Duration
	for _, t := range b.plan.Trials[first:next] {
		if !b.ends.Needs(t) || b.final(t) {
			continue
		}
		scene := b.plan.Scene(t.Scene)
		var all time.Duration
		n := 0
		for _, o := range b.last {
			if o.Scene == t.Scene && o.Status == bench.Done {
				all += Took(scene, o)
				n++
			}
		}
		if n == 0 {
			sum += time.Duration(scene.Estimate * float64(time.Second))
			continue
		}
		sum += all / time.Duration(n)
	}
	return sum
}

// Took is the time from a trial's begin to that of the next. The scene is nil for a
// trial in which the machine rested.
func Took(scene *bench.Scene, o *bench.Outcome) time.Duration {
	if len(o.Phases) == 0 {
		return 0
	}
	last := o.Phases[len(o.Phases)-1]
	sum := time.Duration(last.End - o.Phases[0].Start)
	if scene != nil && last.Name != "cooldown" {
		sum += scene.Timing.Cooldown
	}
	return sum
}

// blocksBefore is how many blocks a case has before a place in the plan.
func (b *budget) blocksBefore(place int, name string) int {
	blocks := 0
	for _, t := range b.plan.Trials[:place] {
		if b.plan.Scene(t.Scene).Case == name {
			blocks = t.Block
		}
	}
	return blocks
}

package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
)

const (
	// shielded is what a platform keeps at least that protects from a neighbour.
	shielded = 0.9
	// gained is what a platform surely has in a scene that does more than the one it is set against.
	gained = 1.1
)

// A scene's fate on the platforms it was measured on, of those that are set against another.
type beside struct {
	title              string
	against            string // the scene that it is set against
	hurt, kept, killed []Cost // what loses, surely; what surely does not; what never finished
	gains              []Cost // what surely does more
	open               []Cost
	partly             []Cost // of hurt and open, what did not finish in some launches
	alone              []Cost // what had no neighbour
	stopped            []Cost // of all, where a limit of the neighbour's own stopped it in each launch
	lonely             bool   // there is no neighbour in the scene
	shared             bool   // subject and neighbour share CPUs, and it is they that are measured
}

// besides are the fates of the scenes in a table of what is left, the worst first.
func (r *Result) besides(costs []Cost) []beside {
	var all []beside
	for _, g := range groups(costs, func(c Cost) string { return c.Case + "\x00" + c.Metric.Name }) {
		b := beside{title: g[0].Work, against: g[0].against}
		for i := range r.Cases {
			if c := &r.Cases[i]; c.Name == g[0].against {
				b.against = cmp.Or(c.Title, c.Name)
			}
			if c := &r.Cases[i]; c.Name == g[0].Case {
				b.title, b.shared, b.lonely = cmp.Or(c.Title, b.title), c.Resource == "cpu", c.Kind == bench.One
			}
		}
		for _, c := range g {
			b.shared = b.shared && c.cell.SharedCPUs
			if c.cell.DNF > 0 && c.cell.N > 0 {
				b.partly = append(b.partly, c)
			}
			if c.cell.Stopped > 0 && c.cell.Stopped == c.cell.Launches {
				b.stopped = append(b.stopped, c)
			}
			switch {
			case c.cell.N == 0 && c.cell.DNF > 0:
				b.killed = append(b.killed, c)
			case c.cell.N == 0 && c.cell.Alone > 0:
				b.alone = append(b.alone, c)
			case c.Verdict == Differs && c.High > 0 && c.High < shielded:
				b.hurt = append(b.hurt, c)
			case c.Verdict == Differs && c.Low >= gained && c.cell.DNF == 0:
				b.gains = append(b.gains, c)
			case c.Verdict != Refused && c.Verdict != Unfair && c.Low >= shielded && c.cell.DNF == 0:
				b.kept = append(b.kept, c)
			default:
				b.open = append(b.open, c)
			}
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b beside) int { return cmp.Compare(a.worst(), b.worst()) })
	return all
}

// worst is the least that is left on a platform: 0 where one did not finish.
func (b *beside) worst() float64 {
	if len(b.killed) > 0 {
		return 0
	}
	least := math.Inf(1)
	for _, c := range b.hurt {
		least = min(least, c.Speed)
	}
	return least
}

// apart is what to do about a neighbour on the same CPU.
const apart = "give each CPUs of its own"

// unprotected: all of several platforms lose.
func (b *beside) unprotected() bool {
	return len(b.hurt)+len(b.killed) > 1 && len(b.kept)+len(b.gains)+len(b.open)+len(b.alone) == 0
}

// lostAlike: they do, and that is all there is to say.
func (b *beside) lostAlike() bool {
	return b.unprotected() && len(b.killed)+len(b.partly)+len(b.stopped) == 0
}

// loses: every platform surely loses something, though perhaps little.
func (b *beside) loses() bool {
	return len(b.open) > 0 && len(b.kept)+len(b.gains)+len(b.alone)+len(b.partly) == 0 &&
		!slices.ContainsFunc(b.open, func(c Cost) bool { return c.Verdict != Differs || c.High == 0 || c.Speed >= 1 })
}

// scatters: no platform has a bound that says anything.
func (b *beside) scatters() bool {
	return len(b.open) > 0 && len(b.kept)+len(b.alone) == 0 &&
		!slices.ContainsFunc(b.open, func(c Cost) bool { return c.High > 0 && !c.effect.boundless() }) &&
		slices.ContainsFunc(b.open, func(c Cost) bool { return c.effect.boundless() })
}

// within is the interval that holds what is left on all of them, in brackets, with their names if those are
// asked for; "" if there is none.
func within(costs []Cost, name bool) string {
	low, high := math.Inf(1), 0.0
	for _, c := range costs {
		if c.High == 0 {
			return ""
		}
		if c.effect.boundless() {
			return ""
		}
		low, high = min(low, c.Low), max(high, c.High)
	}
	if high == 0 {
		return ""
	}
	where := ""
	if name {
		where = " on " + listing(namesOf(costs))
	}
	return fmt.Sprintf(" (%.0f to %.0f %% is left%s)", 100*low, 100*high, where)
}

// say says the fate in a sentence, with what to do about it if that is plain.
func (b *beside) say() string {
	var parts []string
	switch {
	case b.unprotected():
		parts = append(parts, "no platform here protects from it")
		if len(b.hurt) > 0 {
			parts = append(parts, left(b.hurt, "is left"))
		}
	default:
		if len(b.hurt) > 0 {
			parts = append(parts, left(b.hurt, "is left on "+listing(namesOf(b.hurt))))
		}
		if len(b.kept) > 0 {
			where := "on " + listing(namesOf(b.kept))
			if len(b.hurt) == 0 {
				where = "is left " + where
			}
			parts = append(parts, left(b.kept, where))
		}
	}
	if len(b.gains) > 0 {
		of := "of "
		if slices.ContainsFunc(b.gains, func(c Cost) bool { return c.Speed >= factor }) {
			of = "what is done in "
		}
		parts = append(parts, left(b.gains, of+quoted(b.against)+" on "+listing(namesOf(b.gains))))
	}
	if len(b.killed) > 0 {
		parts = append(parts, "it did not finish on "+listing(namesOf(b.killed)))
	}
	for _, c := range b.partly {
		parts = append(parts, fmt.Sprintf("in %d of %d launches it did not finish on %s", c.cell.DNF, c.cell.Launches, c.Name()))
	}
	if len(b.open) > 0 {
		parts = append(parts, "not known on "+listing(namesOf(b.open)))
	}
	if len(b.alone) > 0 {
		parts = append(parts, "no neighbour on "+listing(namesOf(b.alone))+", where it had ended")
	}
	if len(b.stopped) > 0 {
		parts = append(parts, "the neighbour's own limit stopped it on "+listing(namesOf(b.stopped)))
	}
	if b.shared && len(b.hurt) > 0 {
		parts = append(parts, apart)
	}
	return b.title + ": " + strings.Join(parts, "; ") + "."
}

// left says what is left of several, where, and the interval that holds all of theirs: "47 to 50 % is
// left (45 to 52)".
func left(costs []Cost, where string) string {
	least, most, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, c := range costs {
		least, most, low, high = min(least, c.Speed), max(most, c.Speed), min(low, c.Low), max(high, c.High)
	}
	share, unit := inUnitOf(most)
	text := share(least)
	if other := share(most); other != text {
		text += " to " + other
	}
	return fmt.Sprintf("%s %s %s (%s to %s)", text, unit, where, share(low), share(high))
}

// inUnitOf writes shares of a performance as one of them is said: in percent or, from twice as much on, as
// a factor.
func inUnitOf(share float64) (write func(float64) string, unit string) {
	if share >= factor {
		return digits, "times"
	}
	return func(v float64) string { return fmt.Sprintf("%.0f", 100*v) }, "%"
}

// Span are the bounds of what is kept in the unit in which Words have it; both are "" where there are none,
// or none that say anything.
func (c *MatrixCell) Span() (low, high string) {
	if c.High == 0 || c.Effect.boundless() {
		return "", ""
	}
	write, _ := inUnitOf(c.Kept)
	return write(c.Low), write(c.High)
}

func namesOf(costs []Cost) []string {
	var names []string
	for _, c := range costs {
		names = append(names, c.Name())
	}
	return names
}

// neighbourSentences say which neighbours hurt, the worst first, and then which do not.
func (r *Result) neighbourSentences(costs []Cost) []string {
	var hurt []beside
	var rest, harmless, losing, open, alone []string
	var gains, wild, unlike []string
	for _, b := range r.besides(costs) {
		switch {
		case !slices.ContainsFunc(b.open, func(c Cost) bool { return c.cell.N > 0 || c.cell.Missing == 0 }) && len(b.hurt)+len(b.killed)+len(b.kept)+len(b.gains)+len(b.alone) == 0:
			continue // all of it is still to come
		case len(b.hurt)+len(b.killed) > 0:
			hurt = append(hurt, b)
			continue
		case len(b.gains) > 0:
			gains = append(gains, b.say())
			continue
		case b.loses():
			losing = append(losing, quoted(b.title)+", where "+left(b.open, "is left"))
		case b.scatters():
			wild = append(wild, quoted(b.title))
		case len(b.open) > 0 && b.lonely:
			unlike = append(unlike, quoted(b.title)+strings.Replace(within(b.open, len(b.kept) > 0), " is left", "", 1))
		case len(b.open) > 0 || len(b.kept)+len(b.alone) == 0:
			open = append(open, quoted(b.title)+within(b.open, len(b.kept)+len(b.alone) > 0))
		case len(b.kept) > 0:
			harmless = append(harmless, b.keeps())
		}
		if len(b.alone) > 0 {
			alone = append(alone, b.none())
		}
	}
	most := fmt.Sprintf("%.0f %%", 100*(1-shielded))
	say := func(lead string, what []string) {
		if len(what) > 0 {
			rest = append(rest, lead+listing(what)+".")
		}
	}
	rest = append(rest, gains...)
	say("Each platform loses something in: ", losing)
	say("Little is lost, at most "+most+", in: ", harmless)
	say("There was no neighbour, for it had ended, in: ", alone)
	say("Not decided whether more than "+most+" is lost in: ", open)
	say("Not decided whether more or less is done in: ", unlike)
	say("Launches scatter too much to say what is left in: ", wild)
	return append(hurtSentences(hurt, mostSentences-len(rest)), rest...)
}

// hurtSentences say of scenes what is lost in at most so many sentences: where there are more scenes, those
// in which every platform loses have one together, and the last sentence counts what is left out.
func hurtSentences(hurt []beside, most int) []string {
	var all []string
	if len(hurt) <= most {
		for _, b := range hurt {
			all = append(all, b.say())
		}
		return all
	}
	said := map[bool]bool{} // of those together, by whether they share CPUs
	var scenes []int        // of each sentence
	for _, b := range hurt {
		if !b.lostAlike() {
			all, scenes = append(all, b.say()), append(scenes, 1)
			continue
		}
		if said[b.shared] {
			continue
		}
		said[b.shared] = true
		var titles []string
		var costs []Cost
		for _, other := range hurt {
			if other.lostAlike() && other.shared == b.shared {
				titles, costs = append(titles, quoted(other.title)), append(costs, other.hurt...)
			}
		}
		text := "No platform here protects, " + left(costs, "is left") + ", in: " + listing(titles)
		if b.shared {
			text += "; " + apart
		}
		all, scenes = append(all, text+"."), append(scenes, len(titles))
	}
	if len(all) <= most {
		return all
	}
	more := 0
	for _, n := range scenes[most-1:] {
		more += n
	}
	all[most-1] = fmt.Sprintf("%d more in which something is lost are in the table.", more)
	if more == 1 {
		all[most-1] = "1 more in which something is lost is in the table."
	}
	return all[:most]
}

// keeps names a scene in which nothing is lost, with the platforms where others had no neighbour, and
// where the neighbour was stopped.
func (b *beside) keeps() string {
	var more []string
	if len(b.alone) > 0 {
		more = append(more, listing(namesOf(b.kept)))
	}
	switch {
	case len(b.stopped) == len(b.kept):
		more = append(more, "its own limit stopped the neighbour")
	case len(b.stopped) > 0:
		more = append(more, "its own limit stopped the neighbour on "+listing(namesOf(b.stopped)))
	}
	if len(more) == 0 {
		return quoted(b.title)
	}
	return quoted(b.title) + " (" + strings.Join(more, "; ") + ")"
}

// none names a scene without a neighbour, with the platforms where others had one.
func (b *beside) none() string {
	if len(b.kept)+len(b.open) == 0 {
		return quoted(b.title)
	}
	return quoted(b.title) + " (" + listing(namesOf(b.alone)) + ")"
}

func quoted(title string) string { return `"` + title + `"` }

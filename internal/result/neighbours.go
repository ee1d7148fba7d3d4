package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// shielded is what a platform keeps at least that protects from a neighbour.
	shielded = 0.9
	// mostHurt is how many scenes in which something is lost have a sentence of their own.
	mostHurt = 4
)

// A scene's fate on the platforms it was measured on, of those that are set against another.
type beside struct {
	title              string
	hurt, kept, killed []Cost // what loses, surely; what surely does not; what never finished
	open               []Cost
	shared             bool // subject and neighbour share CPUs, and it is they that are measured
}

// besides are the fates of the scenes in a table of what is left, the worst first.
func (r *Result) besides(costs []Cost) []beside {
	var all []beside
	for _, g := range groups(costs, func(c Cost) string { return c.Case + "\x00" + c.Metric.Name }) {
		b := beside{title: g[0].Work}
		for i := range r.Cases {
			if c := &r.Cases[i]; c.Name == g[0].Case {
				b.title, b.shared = cmp.Or(c.Title, b.title), c.Resource == "cpu"
			}
		}
		for _, c := range g {
			b.shared = b.shared && c.cell.SharedCPUs
			switch {
			case c.cell.N == 0 && c.cell.DNF > 0:
				b.killed = append(b.killed, c)
			case c.Verdict == Differs && c.High > 0 && c.High < shielded:
				b.hurt = append(b.hurt, c)
			case (c.Verdict == Differs || c.Verdict == Equivalent) && c.Low >= shielded:
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

// say says the fate in a sentence, with what to do about it if that is plain.
func (b *beside) say() string {
	var parts []string
	switch {
	case len(b.hurt)+len(b.killed) > 1 && len(b.kept)+len(b.open) == 0:
		parts = append(parts, "no platform here protects from it")
		if len(b.hurt) > 0 {
			parts = append(parts, left(b.hurt)+" is left")
		}
	default:
		if len(b.hurt) > 0 {
			parts = append(parts, left(b.hurt)+" is left on "+listing(namesOf(b.hurt)))
		}
		if len(b.kept) > 0 {
			parts = append(parts, left(b.kept)+" on "+listing(namesOf(b.kept)))
		}
	}
	if len(b.killed) > 0 {
		parts = append(parts, "it did not finish on "+listing(namesOf(b.killed)))
	}
	if len(b.open) > 0 {
		parts = append(parts, "not known on "+listing(namesOf(b.open)))
	}
	if b.shared {
		parts = append(parts, "give each CPUs of its own")
	}
	return b.title + ": " + strings.Join(parts, "; ") + "."
}

// left says what is left of several: "47 to 50 %".
func left(costs []Cost) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range costs {
		low, high = min(low, c.Speed), max(high, c.Speed)
	}
	if a, b := fmt.Sprintf("%.0f", 100*low), fmt.Sprintf("%.0f", 100*high); a != b {
		return a + " to " + b + " %"
	}
	return fmt.Sprintf("%.0f %%", 100*low)
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
	var all, harmless, open []string
	more := 0
	for _, b := range r.besides(costs) {
		switch {
		case len(b.hurt)+len(b.killed) > 0 && len(all) < mostHurt:
			all = append(all, b.say())
		case len(b.hurt)+len(b.killed) > 0:
			more++
		case len(b.kept) > 0 && len(b.open) == 0:
			harmless = append(harmless, b.title)
		default:
			open = append(open, b.title)
		}
	}
	if more > 0 {
		all = append(all, fmt.Sprintf("%d more in which something is lost are in the table.", more))
	}
	least := fmt.Sprintf("%.0f %%", 100*shielded)
	if len(harmless) > 0 {
		all = append(all, "At least "+least+" is left on every platform of: "+listing(quoted(harmless))+".")
	}
	if len(open) > 0 {
		all = append(all, "Not decided whether "+least+" is left: "+listing(quoted(open))+".")
	}
	return all
}

func quoted(titles []string) []string {
	var all []string
	for _, t := range titles {
		all = append(all, `"`+t+`"`)
	}
	return all
}

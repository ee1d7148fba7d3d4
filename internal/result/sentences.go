package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

const (
	// fewPlatforms have a sentence each; of more there is one for each kind of work.
	fewPlatforms = 5
	// mostSentences is how many there are at the most, the last of which says what is left out.
	mostSentences = 6
	// telling is the widest bound of an undecided change that is worth a sentence, as a factor.
	telling = 1.15
)

// sentences say the costs: what neighbours do, then of few platforms one each, of many one for each kind
// of work, and last what the reader set against each other.
func sentences(costs []Cost, r *Result) []string {
	var kept, own, besides []Cost
	for _, c := range costs {
		switch {
		case c.Kept && c.cell.Besides:
			besides = append(besides, c)
		case c.Kept:
			kept = append(kept, c)
		default:
			own = append(own, c)
		}
	}
	return slices.Concat(r.neighbourSentences(kept), ownSentences(own, r), besidesSentences(besides))
}

// curveSentences say of each curve that answers the question where it bends or has its peak, if that
// was asked.
func (r *Result) curveSentences() []string {
	all := []string{}
	for i := range r.Sweeps {
		s := &r.Sweeps[i]
		if !r.Speaks(s.Metric) {
			continue
		}
		var parts, reasons []string
		without := map[string][]string{} // by reason
		lacks := func(what, why, name string) {
			reason := "no " + what + " is known on %s (" + why + ")"
			if without[reason] == nil {
				reasons = append(reasons, reason)
			}
			without[reason] = append(without[reason], name)
		}
		for _, l := range s.Lines {
			name := Labelled(l.Platform, l.Label)
			if k := l.Knee; k != nil {
				parts = append(parts, fmt.Sprintf("the knee is at %.2f %s on %s (%.2f to %.2f)", k.At, s.Axis, name, k.Low, k.High))
			} else if l.NoKnee != "" {
				lacks("knee", l.NoKnee, name)
			}
			if p := l.Peak; p != nil && p.High > widest*p.Low {
				lacks("peak", scattered, name)
			} else if p != nil {
				parts = append(parts, fmt.Sprintf("up to %s %s on %s (%s to %s)", figure.Number(p.At), s.Metric.Unit, name, figure.Number(p.Low), figure.Number(p.High)))
			} else if l.NoPeak != "" {
				lacks("peak", l.NoPeak, name)
			}
			if h := l.Threshold; h != nil {
				parts = append(parts, fmt.Sprintf("%.0f %% worse from %.2f on with %s (%.2f to %.2f)", 100*h.Worse, h.At, name, h.Low, h.High))
			}
		}
		for _, reason := range reasons {
			parts = append(parts, strings.Replace(reason, "%s", listing(without[reason]), 1))
		}
		if len(parts) > 0 {
			all = append(all, s.Title+": "+strings.Join(parts, "; ")+".")
		}
	}
	return all
}

// besidesSentences say of each case what it is of another on the same platform.
func besidesSentences(costs []Cost) []string {
	var all []string
	for _, g := range groups(costs, func(c Cost) string { return c.Work }) {
		var known, open []string
		for _, c := range g {
			switch {
			case c.High == 0:
				open = append(open, c.Name()+" ("+c.Words+")")
			case c.Verdict == Differs, c.Verdict == Equivalent:
				known = append(known, left([]Cost{c}, "on "+c.Name()))
			default:
				open = append(open, c.Name()+" ("+c.Bounds+")")
			}
		}
		var parts []string
		if len(known) > 0 {
			parts = append(parts, listing(known))
		}
		if len(open) > 0 {
			parts = append(parts, "not known on "+listing(open))
		}
		all = append(all, g[0].Work+": "+strings.Join(parts, "; ")+".")
	}
	return all
}

func ownSentences(costs []Cost, r *Result) []string {
	platforms, works := groups(costs, Cost.Name), groups(costs, func(c Cost) string { return c.Work })
	var all []string
	if len(platforms) <= fewPlatforms {
		alike := map[string][]string{} // the platforms of which the same is said
		var said []string
		for _, g := range platforms {
			words := of("", g, func(c Cost) string { return c.Work }, "to", r)
			if words != "" && alike[words] == nil {
				said = append(said, words)
			}
			alike[words] = append(alike[words], g[0].Name())
		}
		for _, words := range said {
			all = append(all, joined(alike[words])+words)
		}
	} else {
		// What is emulated is in the table, and no finding.
		if real := slices.DeleteFunc(slices.Clone(costs), Cost.Emulated); len(real) > 0 {
			works = groups(real, func(c Cost) string { return c.Work })
		}
		slices.SortStableFunc(works, func(a, b []Cost) int { return cmp.Compare(worst(a), worst(b)) })
		for _, g := range works {
			all = append(all, of(capital(g[0].Work), g, Cost.listed, "on", r))
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	if len(all) > mostSentences {
		left := len(all) - mostSentences + 1
		all = append(all[:mostSentences-1], fmt.Sprintf("%s are in the table.", figure.Count(left, "further kind")+" of work"))
		if left == 1 {
			all[mostSentences-1] = "1 further kind of work is in the table."
		}
	}
	return all
}

// worst is the least speed that is known among costs.
func worst(costs []Cost) float64 {
	least := math.Inf(1)
	for _, c := range costs {
		if c.Speed > 0 && c.Verdict == Differs {
			least = min(least, c.Speed)
		}
	}
	return least
}

// groups are the costs by a name, in the order in which the names come.
func groups(costs []Cost, name func(Cost) string) [][]Cost {
	var all [][]Cost
	at := map[string]int{}
	for _, c := range costs {
		i, ok := at[name(c)]
		if !ok {
			i = len(all)
			at[name(c)] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], c)
	}
	return all
}

// of says the costs of one platform, or of one kind of work, in a sentence: what is the same first,
// then what costs, the worst first, then gains, and last what is open; "" where all is still to come.
// Something is added to a kind of work, and on a platform.
func of(subject string, costs []Cost, name func(Cost) string, added string, r *Result) string {
	costs = slices.Clone(costs)
	slices.SortStableFunc(costs, func(a, b Cost) int { return cmp.Compare(a.Speed, b.Speed) })
	if plain := name; added == "to" {
		name = func(c Cost) string {
			if n := plain(c); !strings.Contains(n, ", ") {
				return n
			}
			return quoted(plain(c))
		}
	}
	metric := commonName(costs)
	bare := func(words string) string { return strings.ReplaceAll(words, metric, "") }
	var same, costing, gaining, open, ahead, reasons []string
	var uncompared []string
	without := map[string][]string{} // by reason
	lacks := func(to *[]string, why, name string) {
		if without[why] == nil {
			*to = append(*to, why)
		}
		without[why] = append(without[why], name)
	}
	var adding, bounded []Cost
	var unknown []string // the names of what is open
	for _, c := range costs {
		n := name(c)
		switch {
		case c.ahead:
			ahead = append(ahead, n)
		case c.lost:
			lacks(&reasons, c.Words, n)
		case c.Verdict == Unfair:
			lacks(&uncompared, "unfair: "+cmp.Or(c.effect.Audit.Mark(), c.effect.Unfair), n)
		case c.Verdict == Refused:
			lacks(&uncompared, cmp.Or(c.effect.Unfair, c.effect.Why), n)
		case c.Verdict == Equivalent:
			same = append(same, n)
		case c.Verdict == Differs && c.Added != nil && c.Added.Mean > 0:
			adding = append(adding, c)
		case c.Verdict == Differs && c.Added != nil:
			gaining = append(gaining, c.effect.size(c.Metric)+" on "+n)
		case c.Verdict == Differs && c.Speed < 1:
			costing = append(costing, bare(c.effect.size(c.Metric))+" on "+n)
		case c.Verdict == Differs:
			gaining = append(gaining, bare(c.effect.size(c.Metric))+" on "+n)
		case c.effect.Waiting > 0:
			lacks(&reasons, c.effect.open(c.Metric, r.Margin), n)
		case c.effect.boundless():
			lacks(&uncompared, scattered, n)
		case c.Low > 1/telling && c.High < telling && c.Added == nil:
			bounded = append(bounded, c)
		default:
			unknown = append(unknown, n)
			open = append(open, n+" ("+bare(c.effect.bound(c.Metric, r.Margin))+")")
		}
	}
	var parts []string
	add := func(lead string, what []string) {
		if len(what) > 0 {
			parts = append(parts, lead+listing(what))
		}
	}
	if n := len(same); n > mostNamed && n == len(costs) {
		same = []string{"all"}
	}
	add("no difference within "+trim(100*r.Margin)+" % on ", same)
	add("", costing)
	add("adds ", additions(adding, func(c Cost) string { return added + " " + name(c) }))
	add("", gaining)
	if len(bounded) == 1 {
		parts = append(parts, bare(bounded[0].effect.bound(bounded[0].Metric, r.Margin))+" on "+name(bounded[0]))
	} else if len(bounded) > 1 {
		parts = append(parts, together(bounded, name))
	}
	if len(open) > 2 { // the table has their bounds
		open = unknown
	}
	add("not known: ", open)
	for _, all := range [][]string{uncompared, reasons} {
		for i, why := range all {
			all[i] = listing(without[why]) + " (" + why + ")"
		}
	}
	add("not compared: ", uncompared)
	add("no figure for ", reasons)
	if len(parts) == 0 {
		return ""
	}
	add("not measured yet: ", ahead)
	if metric != "" {
		subject += ", " + strings.TrimSpace(metric)
	}
	return subject + ": " + strings.Join(parts, "; ") + "."
}

// additions say what each adds: of many to the same work the least and the most.
func additions(costs []Cost, where func(Cost) string) []string {
	say := func(c Cost) string {
		return fmt.Sprintf("%s %s (%s to %s)", strings.TrimPrefix(signed(c.Added.Mean, c.Metric.Unit), "+"), where(c), amount(c.Added.Low), amount(c.Added.High))
	}
	if n := len(costs); n > mostNamed+1 && len(groups(costs, func(c Cost) string { return c.Work })) == 1 {
		costs = slices.SortedStableFunc(slices.Values(costs), func(a, b Cost) int { return cmp.Compare(a.Added.Mean, b.Added.Mean) })
		return []string{say(costs[0]) + " at the least", say(costs[n-1]) + " at the most", fmt.Sprintf("between them on %d more", n-2)}
	}
	var all []string
	for _, c := range costs {
		all = append(all, say(c))
	}
	return all
}

// commonName is what words say of the metric that all costs share, with a blank; "" where there are
// several, or it needs no word.
func commonName(costs []Cost) string {
	for _, c := range costs {
		if c.Added != nil || named(c.Metric) != named(costs[0].Metric) {
			return ""
		}
	}
	return named(costs[0].Metric)
}

// together says of undecided costs within what all of them lie, whichever way.
func together(costs []Cost, name func(Cost) string) string {
	most := 0.0
	var names []string
	for _, c := range costs {
		slow, fast := 1-c.Low, c.High-1
		if c.Metric.Better == bench.LowerIsBetter {
			slow, fast = 1/c.Low-1, 1-1/c.High
		}
		most = max(most, slow, fast)
		names = append(names, name(c))
	}
	return fmt.Sprintf("undecided, but within ±%s %% on %s", trim(100*most), listing(names))
}

// mostNamed is how many of a kind a sentence names; of more it counts the rest.
const mostNamed = 3

// listing joins words as a sentence does.
func listing(words []string) string {
	if left := len(words) - mostNamed; left > 1 {
		words = append(slices.Clone(words[:mostNamed]), fmt.Sprintf("%d more", left))
	}
	return joined(words)
}

// joined are words with commas and an "and".
func joined(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

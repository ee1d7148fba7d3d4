package selftest

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/stop"
	"tare/internal/bench"
	"tare/internal/result"
)

// Rule is the stopping rule of every run that is replayed: a specification's
// default.
func Rule() bench.Until {
	return bench.Until{Interval: margin / 2, Min: 5, Max: 30, Looks: stats.Looks(5, 30)}
}

// Inject is how often known slowdowns were found.
type Inject struct {
	Rule bench.Until `json:"until"`
	Rows []InjectRow `json:"rows"`
	// Runs are all of them, by case, platform, slowdown and block.
	Runs []Comparison `json:"runs"`
}

// InjectRow is one slowdown of one platform in one case.
type InjectRow struct {
	Platform string  `json:"platform"`
	Case     string  `json:"case"`
	Slowdown float64 `json:"slowdown"` // a share: 0.05
	Truth    float64 `json:"truth"`    // the ratio that was made
	Runs     int     `json:"runs"`
	// Found are the runs with the verdict "differs" in the right direction,
	// Significant those whose interval excludes 1 in that direction, and Covered
	// those whose interval holds the truth.
	Found       Proportion `json:"found"`
	Significant Proportion `json:"significant"`
	Covered     Proportion `json:"covered"`
	Wrong       int        `json:"wrong"`   // "differs" in the other direction
	Refused     int        `json:"refused"` // runs without an interval, for failed launches; not found
	// Ratio is the geometric mean over all blocks, with its 95 % interval, and
	// Bias what it is off the truth by, relative to it. Both are absent where
	// there are too few blocks.
	Ratio *Estimate `json:"ratio,omitempty"`
	Bias  *Estimate `json:"bias,omitempty"`
	// Blocks is how many a run took, in the mean.
	Blocks float64 `json:"blocks_per_run"`
}

// Estimate is a value with its 95 % interval.
type Estimate struct {
	Mid  float64 `json:"mid"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// EvaluateInject replays the stopping rule over the blocks of a run, for every
// pair of a platform and a slowed one: when the rule ends one run, the next
// begins with the next block, so that runs share no launch. What is left at the end
// without a decision counts for nothing.
func EvaluateInject(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (*Inject, error) {
	ended := map[string]blockSet{}
	found, err := headlines(p, noting(outcomes, ended))
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	in := &Inject{Rule: Rule()}
	for i := range p.Scenes {
		s := &p.Scenes[i]
		x := slowdownOf(s)
		if x == 0 {
			continue
		}
		m, ok := mechanisms[s.Case]
		if !ok {
			return nil, fmt.Errorf("evaluate: no slowdown is known of case %q", s.Case)
		}
		base := original(s.Platform)
		baseID := s.Case + "/" + base.String()
		row := InjectRow{Platform: base.String(), Case: s.Case, Slowdown: x, Truth: m.truth(x)}
		runs, err := replay(in.Rule, found[s.ID], found[baseID], whole(ended[s.ID], ended[baseID]), p.Margin)
		if err != nil {
			return nil, fmt.Errorf("evaluate %s: %w", s.ID, err)
		}
		row.count(runs)
		row.bias(found[s.ID], found[baseID])
		for _, c := range runs {
			c.Platform, c.Case = s.Platform.String(), s.Case
			in.Runs = append(in.Runs, c)
		}
		in.Rows = append(in.Rows, row)
	}
	return in, nil
}

// slowdownOf is the share by which the plan slows the scene's subjects, 0 for none.
func slowdownOf(s *bench.Scene) float64 {
	for i := range s.Actors {
		if j := s.Actors[i].Injection; j != nil {
			return max(j.CPU, j.Disk, j.Startup)
		}
	}
	return 0
}

// original is the platform without its second name.
func original(r bench.PlatformRef) bench.PlatformRef {
	out := bench.PlatformRef{Name: r.Name}
	for k, v := range r.Options {
		if k == bench.AliasOption {
			continue
		}
		if out.Options == nil {
			out.Options = map[string]string{}
		}
		out.Options[k] = v
	}
	return out
}

// replay cuts the blocks into runs as the stopping rule would end them, and
// decides each as a report does.
func replay(u bench.Until, value, base values, blocks int, margin float64) ([]Comparison, error) {
	var runs []Comparison
	ratios, err := stats.PairedRatios(value.part(1, blocks), base.part(1, blocks))
	if err != nil {
		return nil, err
	}
	for first := 1; first <= blocks; {
		rule := &stop.Rule{Until: u, Margin: margin, Family: 1}
		n, d, ended := rule.End(blocks-first+1, func(n int) []float64 {
			of := slices.DeleteFunc(slices.Clone(ratios), func(r stats.Ratio) bool { return r.Block < first || r.Block >= first+n })
			return ratioValues(of)
		})
		if !ended {
			break
		}
		last := first + n - 1
		interval, verdict, err := effect.Compare(value.part(first, last), base.part(first, last), d.Confidence, margin)
		c := Comparison{Blocks: [2]int{first, last}, Ratio: interval.Mid, Low: interval.Low, High: interval.High, Verdict: verdict}
		if err != nil {
			if !errors.Is(err, stats.ErrFew) {
				return nil, err
			}
			c.Why = err.Error()
		}
		runs = append(runs, c)
		first = last + 1
	}
	return runs, nil
}

// blockSet are the blocks in which a scene's trial ended, done or failed.
type blockSet map[int]bool

// noting passes the outcomes on and notes by scene the blocks that ended.
func noting(outcomes iter.Seq2[*bench.Outcome, error], ended map[string]blockSet) iter.Seq2[*bench.Outcome, error] {
	return func(yield func(*bench.Outcome, error) bool) {
		for o, err := range outcomes {
			if err == nil && o.Status != bench.Aborted {
				if ended[o.Scene] == nil {
					ended[o.Scene] = blockSet{}
				}
				ended[o.Scene][o.Block] = true
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// whole is how many blocks, from the first, ended on both sides.
func whole(a, b blockSet) int {
	n := 0
	for a[n+1] && b[n+1] {
		n++
	}
	return n
}

func ratioValues(ratios []stats.Ratio) []float64 {
	out := make([]float64, len(ratios))
	for i, r := range ratios {
		out[i] = r.Value
	}
	return out
}

// count sums the runs up.
func (row *InjectRow) count(runs []Comparison) {
	found, significant, covered, blocks := 0, 0, 0, 0
	for _, c := range runs {
		blocks += c.Blocks[1] - c.Blocks[0] + 1
		if c.Verdict == result.Refused {
			row.Refused++
			continue
		}
		right := c.High < 1
		if row.Truth > 1 {
			right = c.Low > 1
		}
		switch {
		case c.Verdict == result.Differs && right:
			found++
		case c.Verdict == result.Differs:
			row.Wrong++
		}
		if right {
			significant++
		}
		if c.Holds(row.Truth) {
			covered++
		}
	}
	row.Runs = len(runs)
	row.Found, row.Significant = proportion(found, row.Runs), proportion(significant, row.Runs)
	row.Covered = proportion(covered, row.Runs-row.Refused)
	if row.Runs > 0 {
		row.Blocks = float64(blocks) / float64(row.Runs)
	}
}

// bias compares the mean of all blocks with the truth; blocks in which a
// launch failed have no ratio and are left out.
func (row *InjectRow) bias(value, base values) {
	ratios, err := stats.PairedRatios(value, base)
	if err != nil {
		return
	}
	i, err := stats.RatioInterval(ratioValues(ratios), 0.95)
	if err != nil {
		return
	}
	row.Ratio = &Estimate{i.Mid, i.Low, i.High}
	row.Bias = &Estimate{i.Mid/row.Truth - 1, i.Low/row.Truth - 1, i.High/row.Truth - 1}
}

// enoughRuns is the fewest runs that can show the promised share: if all of
// 36 find it, the interval of the share begins above 90 %.
const enoughRuns = 36

// Finding is the part's section of the certificate.
func (in *Inject) Finding() *Finding {
	five, ten := in.of(0.05), in.of(0.10)
	f := &Finding{Part: PartInject, Size: five.N, Unit: "runs with 5 %", Complete: five.N >= enoughRuns, Data: in}
	if !f.Complete {
		f.Short = fmt.Sprintf("fewer than %d", enoughRuns)
	}
	blocks := fmt.Sprint(in.Rule.Max)
	f.Claims = []Claim{
		{Promises[FindFive].Claim("blocks", blocks), in.words(0.05), AtLeast(five, Promises[FindFive].share())},
		{Promises[FindTen].Claim("blocks", blocks), in.words(0.10), always(ten)},
		in.biasClaim(),
	}
	f.Tables = []Table{in.table(), in.sources()}
	return f
}

// words are the share of runs that found a slowdown, in all and by case.
func (in *Inject) words(slowdown float64) string {
	all := in.of(slowdown)
	var parts []string
	for _, n := range InjectCases() {
		if p := in.of(slowdown, n); p.N > 0 && p.N < all.N {
			parts = append(parts, fmt.Sprintf("%s %d of %d", n, p.K, p.N))
		}
	}
	if parts == nil {
		return all.String()
	}
	return all.String() + ": " + strings.Join(parts, ", ")
}

// of is the share of the runs with a slowdown in which it was found, in the
// cases or, where none is named, in all.
func (in *Inject) of(slowdown float64, cases ...string) Proportion {
	k, n := 0, 0
	for _, r := range in.Rows {
		if math.Abs(r.Slowdown-slowdown) < 1e-9 && (len(cases) == 0 || slices.Contains(cases, r.Case)) {
			k, n = k+r.Found.K, n+r.Found.N
		}
	}
	return proportion(k, n)
}

// always holds of no share for sure; as many runs as show the other claim
// without an exception are taken for it.
func always(p Proportion) Held {
	switch {
	case p.K < p.N:
		return No
	case p.N >= enoughRuns:
		return Yes
	}
	return Open
}

// biasClaim judges the row that is furthest off.
func (in *Inject) biasClaim() Claim {
	most := Promises[Unbiased].share()
	c := Claim{Claim: Promises[Unbiased].Claim(), Found: "nothing", Held: Open}
	worst := 0.0
	held := Yes
	for _, r := range in.Rows {
		if r.Bias == nil {
			held = max2(held, Open)
			continue
		}
		if b := math.Abs(r.Bias.Mid); b >= worst {
			worst = b
			c.Found = fmt.Sprintf("at worst %s (%s, %s, %g %%)", biasWords(r.Bias), r.Case, r.Platform, percent(r.Slowdown))
		}
		switch {
		case r.Bias.Low > most || r.Bias.High < -most:
			held = No
		case r.Bias.Low < -most || r.Bias.High > most:
			held = max2(held, Open)
		}
	}
	if len(in.Rows) > 0 {
		c.Held = held
	}
	return c
}

// max2 is the worse of two judgements.
func max2(a, b Held) Held {
	for _, h := range []Held{No, Open} {
		if a == h || b == h {
			return h
		}
	}
	return Yes
}

func biasWords(b *Estimate) string {
	return fmt.Sprintf("%+.2f %% (%+.2f to %+.2f)", 100*b.Mid, 100*b.Low, 100*b.High)
}

func (in *Inject) table() Table {
	t := Table{Title: "Known slowdowns",
		Head: []string{"case", "platform", "slowdown", "runs", "blocks", "found", "significant", "interval holds the truth", "bias"},
		Note: fmt.Sprintf("Each run is ended by the stopping rule (±%g %%, %d to %d blocks) and decided as a report decides at a margin of %g %%; "+
			"runs share no launch, and a pair that needs more blocks for each has fewer. Found is \"differs\" in the right direction. Shares with exact 95 %% binomial intervals. "+
			"The two sides of a pair are given different limits, which the fairness audit would call unfair: here that is the slowdown, and it is left aside.",
			percent(in.Rule.Interval), in.Rule.Min, in.Rule.Max, percent(margin))}
	for _, r := range in.Rows {
		bias := "too few blocks"
		if r.Bias != nil {
			bias = biasWords(r.Bias)
		}
		found := r.Found.String()
		if r.Wrong > 0 {
			found += fmt.Sprintf(", %d in the wrong direction", r.Wrong)
		}
		if r.Refused > 0 {
			found += fmt.Sprintf(", %d without an interval", r.Refused)
		}
		t.Rows = append(t.Rows, []string{r.Case, r.Platform, fmt.Sprintf("%g %%", percent(r.Slowdown)), fmt.Sprint(r.Runs),
			fmt.Sprintf("%.1f", r.Blocks), found, r.Significant.String(), r.Covered.String(), bias})
	}
	return t
}

// sources says how the truth is known.
func (in *Inject) sources() Table {
	t := Table{Title: "How the truth is known", Head: []string{"case", "slowdown"}}
	var seen []string
	for _, r := range in.Rows {
		if !strings.Contains(strings.Join(seen, " "), r.Case) {
			seen = append(seen, r.Case)
			t.Rows = append(t.Rows, []string{r.Case, mechanisms[r.Case].says})
		}
	}
	return t
}

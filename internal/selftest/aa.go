package selftest

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/result"
)

// cases are the short cases of the self-test, in the words of a specification.
// Short means that a launch costs little: what is tested is the statistic, on
// the host's own noise.
var cases = map[string]string{
	"cpu": `
  - name: cpu
    title: Finding primes, one thread
    workload: command
    params:
      argv: [sysbench, cpu, --cpu-max-prime=10000, --time=0, --events=1000, run]
      metrics: [{name: throughput, unit: events/s, better: higher, regex: 'events per second: *([0-9.]+)', headline: true}]`,
	"disk": `
  - name: disk
    title: Disk, random reads of 4 KiB
    workload: command
    params:
      argv: [fio, --name=aa, --directory=/scratch, --size=4m, --rw=randread, --bs=4k, --direct=1, --ioengine=libaio,
        --thread, --time_based, --runtime=250ms, --output-format=json]
      metrics: [{name: iops, unit: IOPS, better: higher, json: 'jobs[0].read.iops', headline: true}]`,
	"net": `
  - name: net
    title: Network, request and response of 64 bytes
    workload: netperf
    params: {test: TCP_RR, message-size: 64}`,
	"startup": `
  - {name: startup, title: Start-up to the end of the first command, startup: true}`,
}

// Cases lists the names of the cases.
func Cases() []string { return []string{"cpu", "disk", "net", "startup"} }

// margin is the experiments' default margin of equivalence.
const margin = 0.03

// AASpec writes the experiment in which every platform is measured under two
// names. Platforms are written as in a specification, without alias.
func AASpec(platforms, names []string, blocks int) ([]byte, error) {
	var refs []string
	for _, p := range platforms {
		refs = append(refs, p, withAlias(p, Alias))
	}
	return write("selftest-aa", "Does a platform differ from itself?", refs, names, blocks)
}

// withAlias is the platform under a second name.
func withAlias(platform, alias string) string {
	if head, ok := strings.CutSuffix(platform, "]"); ok {
		return fmt.Sprintf("%s,%s=%s]", head, bench.AliasOption, alias)
	}
	return fmt.Sprintf("%s[%s=%s]", platform, bench.AliasOption, alias)
}

func write(name, title string, refs, names []string, blocks int) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\ntitle: %s\nplatforms:\n", name, title)
	for _, r := range refs {
		fmt.Fprintf(&b, "  - %q\n", r)
	}
	fmt.Fprintf(&b, "baseline: %q\nshape: {cpus: 1, memory: 256MiB, disk: 256MiB}\n", refs[0])
	fmt.Fprintf(&b, "timing: {warmup: 0s, measure: 300ms, cooldown: 0s}\nblocks: %d\nmargin: %g\nscenes:", blocks, margin)
	for _, n := range names {
		text, ok := cases[n]
		if !ok {
			return nil, fmt.Errorf("%w: %w", bench.UnknownWord("case", n, Cases()), bench.ErrInvalid)
		}
		b.WriteString(text)
	}
	b.WriteString("\n")
	return []byte(b.String()), nil
}

// AA is what comparing platforms with themselves gave.
type AA struct {
	// Group is how many blocks make one comparison.
	Group int `json:"blocks_per_comparison"`
	Mistakes
	Refused int     `json:"refused"` // comparisons too incomplete for an interval; in no share
	Rows    []AARow `json:"rows"`
	// Comparisons are all of them, by platform, case and block.
	Comparisons []Comparison `json:"comparisons"`
}

// Mistakes are counted among comparisons of a platform with itself.
type Mistakes struct {
	// Different are those with the verdict "differs".
	Different Proportion `json:"different"`
	// Excludes are the intervals that do not hold 1, the margin of equivalence
	// left aside: 5 % of them are to be expected of intervals of 95 %.
	Excludes Proportion `json:"excludes_one"`
	// Below are those of Excludes that lie wholly below 1, and Above those wholly
	// above it: half of them each are to be expected.
	Below Proportion `json:"wholly_below_one"`
	Above Proportion `json:"wholly_above_one"`
}

// AARow is one platform in one case.
type AARow struct {
	Platform string `json:"platform"`
	Case     string `json:"case"`
	Mistakes
}

// EvaluateAA compares every platform with its alias, by groups of consecutive
// blocks. Every group is used once, so that comparisons share no launch.
func EvaluateAA(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error], group int) (*AA, error) {
	found, err := headlines(p, outcomes)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	aa := &AA{Group: group}
	for i := range p.Scenes {
		s := &p.Scenes[i]
		if s.Platform.Options[bench.AliasOption] != "" {
			continue
		}
		row := AARow{Platform: s.Platform.String(), Case: s.Case}
		aa.Rows = append(aa.Rows, row)
		twin := s.Case + "/" + aliased(s.Platform, Alias).String()
		for first, last := range groups(p.Blocks, group) {
			c, ok := compare(found[twin], found[s.ID], first, last, p.Margin)
			if !ok {
				continue
			}
			c.Platform, c.Case = row.Platform, row.Case
			aa.Comparisons = append(aa.Comparisons, c)
		}
	}
	slices.SortStableFunc(aa.Rows, func(a, b AARow) int { return strings.Compare(a.Platform, b.Platform) })
	aa.count()
	return aa, nil
}

// count counts the mistakes among the comparisons, of all and of each row.
func (aa *AA) count() {
	var given []Comparison
	for _, c := range aa.Comparisons {
		if c.Verdict == result.Refused {
			aa.Refused++
			continue
		}
		given = append(given, c)
	}
	aa.Mistakes = mistakes(given)
	for i := range aa.Rows {
		r := &aa.Rows[i]
		r.Mistakes = mistakes(slices.DeleteFunc(slices.Clone(given), func(c Comparison) bool { return c.Platform != r.Platform || c.Case != r.Case }))
	}
}

// mistakes counts them among comparisons with an interval.
func mistakes(all []Comparison) Mistakes {
	different, below, above, n := 0, 0, 0, len(all)
	for i := range all {
		c := &all[i]
		if c.Verdict == result.Differs {
			different++
		}
		switch {
		case c.High < 1:
			below++
		case c.Low > 1:
			above++
		}
	}
	return Mistakes{Different: proportion(different, n), Excludes: proportion(below+above, n), Below: proportion(below, n), Above: proportion(above, n)}
}

// enoughComparisons is from how many on the share of mistakes says something:
// were it 12 % instead of 5 %, so many would show it in 19 of 20 self-tests.
const enoughComparisons = 200

// Finding is the part's section of the certificate; done says that all of the
// run was measured.
func (aa *AA) Finding(done bool) *Finding {
	n := aa.Excludes.N
	worse, side := aa.Below, "below 1"
	if aa.Above.K > aa.Below.K {
		worse, side = aa.Above, "above 1"
	}
	f := &Finding{Part: PartAA, Size: n, Unit: "comparisons", Complete: done && n >= enoughComparisons, Data: aa,
		Claims: []Claim{
			{Promises[Alike].Claim(), aa.Excludes.String(), Nominal(aa.Excludes, Promises[Alike].share(), enoughComparisons)},
			{Promises[EvenSides].Claim(), side + ": " + worse.String(), Nominal(worse, Promises[EvenSides].share(), enoughComparisons)},
		}}
	if n < enoughComparisons {
		f.Short = fmt.Sprintf("fewer than %d", enoughComparisons)
	}
	t := Table{Title: "Platforms compared with themselves",
		Head: []string{"platform", "case", "comparisons", "intervals without 1", "below 1", "above 1", "called different"},
		Note: fmt.Sprintf("Each comparison is of one platform under two names over %d blocks, decided as a report decides. "+
			"Every interval without 1 is a mistake, of which 5 %% are due; \"different\" are those beyond the margin of equivalence as well. "+
			"Shares with exact 95 %% binomial intervals.", aa.Group)}
	if aa.Refused > 0 {
		t.Note += fmt.Sprintf(" %d further comparisons had too few finished trials.", aa.Refused)
	}
	for _, r := range aa.Rows {
		t.Rows = append(t.Rows, r.cells(r.Platform, r.Case))
	}
	t.Rows = append(t.Rows, aa.cells("all", ""))
	f.Tables = []Table{t}
	return f
}

// cells are the table's row.
func (c *Mistakes) cells(platform, caseName string) []string {
	return []string{platform, caseName, fmt.Sprint(c.Excludes.N), c.Excludes.String(), fmt.Sprint(c.Below.K), fmt.Sprint(c.Above.K), c.Different.String()}
}

// aliased is the platform under a second name.
func aliased(r bench.PlatformRef, alias string) bench.PlatformRef {
	options := map[string]string{bench.AliasOption: alias}
	for k, v := range r.Options {
		options[k] = v
	}
	return bench.PlatformRef{Name: r.Name, Options: options, On: r.On}
}

// AABlocks is how many blocks give at least so many comparisons.
func AABlocks(comparisons, group, platforms, cases int) int {
	each := platforms * cases
	return (comparisons + each - 1) / each * group
}

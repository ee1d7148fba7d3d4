package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/app/planning"
	"tare/internal/app/prove"
	"tare/internal/bench"
	"tare/internal/result/store"
	"tare/internal/selftest"
)

// part is what the parts of the self-test are asked for.
type part struct {
	platforms []string
	cases     []string
	known     []string // the cases there are; nil for a part without
	group     int      // blocks of each comparison
	least     int      // the fewest of them
	out       string
	force     bool // put a smaller finding in the place of a larger one
	m         manner
}

// flags are those of every part.
func (t *part) flags(c *cobra.Command, platforms []string, measured string) {
	f := c.Flags()
	f.StringSliceVar(&t.platforms, "platforms", platforms, "the platforms to "+measured)
	f.StringVarP(&t.out, "output", "o", "", "directory of the run (default results/ID); one that is there is gone on with")
	f.BoolVar(&t.force, "force", false, "put a smaller finding in the place of a larger one in the certificate")
	t.m.flags(c)
}

// caseFlag is that of a part with cases.
func (t *part) caseFlag(c *cobra.Command, known []string, what string) {
	t.known = known
	c.Flags().StringSliceVar(&t.cases, "cases", known, what+": "+strings.Join(known, ", "))
}

const ofEach = "blocks of each comparison, at least 3"

// blocksFlag is that of a part that is asked for at least so many blocks.
func (t *part) blocksFlag(c *cobra.Command, blocks, least int, what string) {
	t.least = least
	c.Flags().IntVar(&t.group, "blocks", blocks, what)
}

// check looks at what is asked for before the specification names each platform
// several times.
func (t *part) check(a *app) error {
	switch {
	case t.group < t.least && t.least == 1:
		return usageError("--blocks %d: must be positive", t.group)
	case t.group < t.least:
		return usageError("--blocks %d: an interval needs at least %d", t.group, t.least)
	}
	for _, n := range t.cases {
		if !slices.Contains(t.known, n) {
			return usageError("--cases: %w", bench.UnknownWord("case", n, t.known))
		}
	}
	if t.known != nil && len(t.cases) == 0 {
		return usageError("--cases: none is named; there are %s", strings.Join(t.known, ", "))
	}
	t.platforms = planning.JoinOptions(t.platforms)
	for _, p := range t.platforms {
		if strings.Contains(p, bench.AliasOption+"=") {
			return usageError("--platforms %s: the self-test gives the second name itself", p)
		}
	}
	if err := a.known(t.platforms); err != nil {
		return err
	}
	return t.m.check()
}

// proving runs the test that is made of what is asked for, or goes on with it where its
// directory is there, prints what it found and puts it into the certificate.
func (t *part) proving(a *app, test func() (*prove.Test, error)) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		if err := t.check(a); err != nil {
			return err
		}
		p, err := test()
		if err != nil {
			return err
		}
		return t.measure(c.Context(), a, p, func(r *store.Run) error {
			f, err := p.Evaluate(r)
			if err != nil {
				return err
			}
			return t.keep(a, f, prove.OriginOf(r), *r.Host())
		})
	}
}

// measure runs the test, or goes on with it, and ends with what follows.
func (t *part) measure(ctx context.Context, a *app, test *prove.Test, end func(*store.Run) error) error {
	m := t.m
	m.end, m.Beside, m.SelfTest = end, test.Beside, true
	if _, err := os.Stat(filepath.Join(t.out, "run.json")); t.out == "" || err != nil {
		return a.run(ctx, test.Request(), t.out, m)
	}
	r, err := store.Open(t.out)
	if err != nil {
		return err
	}
	found, err := r.Spec()
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if !bytes.Equal(found, test.Spec) {
		return usageError("-o %s: there is a run of something else, %q: go on with it by tare resume, or by the command and flags that began it", t.out, r.Plan().Experiment)
	}
	return a.resume(ctx, t.out, m)
}

func selftestAACommand(a *app) *cobra.Command {
	var t part
	var comparisons int
	c := &cobra.Command{
		Use:   "aa",
		Short: "Compare platforms with themselves: how many intervals exclude 1?",
		Long: `Measures each platform under two names, in blocks. Every so many consecutive
blocks are one comparison, decided just as a report decides. Nothing differs, so
each interval that excludes 1 is a mistake, whatever the margin of equivalence: 5 %
of them are to be expected, half on each side. Shares have their exact binomial
intervals.

Exit status: 0 the claims hold; 2 one is open; 4 the mistakes are surely more than 5 %, or more than
2.5 % on one side.`,
		Example: "  tare selftest aa\n  tare selftest aa --comparisons 60 --cases startup,cpu -o aa --max-time 5m",
		Args:    cobra.NoArgs,
		RunE: t.proving(a, func() (*prove.Test, error) {
			if comparisons < 1 {
				return nil, usageError("--comparisons %d: must be positive", comparisons)
			}
			return prove.AA(t.platforms, t.cases, t.group, comparisons)
		}),
	}
	t.flags(c, []string{"native", "lxc", "docker"}, "test")
	t.caseFlag(c, selftest.Cases(), "the cases")
	t.blocksFlag(c, 5, 3, ofEach)
	c.Flags().IntVar(&comparisons, "comparisons", 200, "comparisons to make, at least")
	return c
}

// maxSlowdown is the largest that can be asked for, in percent: beyond it, there
// is nothing to find.
const maxSlowdown = 50

func selftestInjectCommand(a *app) *cobra.Command {
	var t part
	var runs int
	var sizes []string
	c := &cobra.Command{
		Use:   "inject",
		Short: "Slow platforms down by a known share: how often is it found?",
		Long: `Measures each platform as it is and slowed down by a known share, in blocks. The
stopping rule is replayed over the blocks: where it ends one run, the next begins.
Each run is decided just as a report decides. The share of runs that find the
slowdown, what the mean ratio is off the truth by, and how often the interval
holds the truth are given for each platform, case and slowdown.

Runs are as many as --runs where the rule ends them after the fewest blocks; a
noisy host has fewer. The pairs are given different limits on purpose, so
the fairness audit, which would call them unfair, is left aside.

Exit status: 0 every claim holds; 2 one is open; 4 if 5 % is surely found in less than 90 % of the runs, or 10 % not
in all of them, or the mean is surely off by more than 1 %.`,
		Example: "  tare selftest inject\n  tare selftest inject --cases cpu --slowdowns 5,10 --platforms native,docker --max-time 10m",
		Args:    cobra.NoArgs,
		RunE: t.proving(a, func() (*prove.Test, error) {
			if runs < 1 {
				return nil, usageError("--runs %d: must be positive", runs)
			}
			shares, err := readSlowdowns(sizes)
			if err != nil {
				return nil, err
			}
			return prove.Inject(t.platforms, t.cases, shares, runs)
		}),
	}
	t.flags(c, []string{"native", "lxc", "docker"}, "slow down")
	t.caseFlag(c, selftest.InjectCases(), "what is slowed down")
	c.Flags().IntVar(&runs, "runs", 6, "runs of each platform, case and slowdown, at most")
	c.Flags().StringSliceVar(&sizes, "slowdowns", []string{"2", "5", "10", "20"}, "the slowdowns, in percent")
	return c
}

// readSlowdowns reads percentages as shares.
func readSlowdowns(words []string) ([]float64, error) {
	var out []float64
	for _, w := range words {
		x, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(w), "%"), 64)
		if err != nil || !(x > 0 && x <= maxSlowdown) {
			return nil, usageError("--slowdowns %q: a percentage above 0, at most %d", w, maxSlowdown)
		}
		if slices.Contains(out, x/100) {
			return nil, usageError("--slowdowns %q: named twice", w)
		}
		out = append(out, x/100)
	}
	if len(out) == 0 {
		return nil, usageError("--slowdowns: none is named")
	}
	return out, nil
}

func selftestCostCommand(a *app) *cobra.Command {
	var t part
	var window time.Duration
	c := &cobra.Command{
		Use:   "cost",
		Short: "What observing costs: with meters and without, and against pidstat and docker stats",
		Long: `Measures every workload on every platform with meters on and with meters off, in
randomized blocks, and tests whether the results are equivalent within 1 %.

The case "watch" observes four containers for ten seconds: once by ourselves, and
once while "pidstat 1" and "docker stats" watch them too. Counted are our whole
process and the agents inside, against pidstat, the docker command and what
dockerd, containerd and the shims use above the launch without. Without pidstat
(Debian's package sysstat) or the platform docker there is no such comparison.

Exit status: 0 every claim holds; 2 one is open; 4 if a result surely changes by more than 1 %, or if we surely use
more than a fifth of what those tools use.`,
		Example: "  tare selftest cost\n  tare selftest cost --blocks 5 --cases watch",
		Args:    cobra.NoArgs,
		RunE: t.proving(a, func() (*prove.Test, error) {
			return prove.Cost(t.platforms, t.cases, t.group, window)
		}),
	}
	t.flags(c, []string{"native", "lxc", "docker"}, "test")
	t.caseFlag(c, selftest.CostCases(), "the cases")
	t.blocksFlag(c, 20, 3, ofEach)
	c.Flags().DurationVar(&window, "window", time.Second, "how long each result is measured, in whole seconds")
	return c
}

func selftestClockCommand(a *app) *cobra.Command {
	var t part
	c := &cobra.Command{
		Use:   "clock",
		Short: "How well are the clocks inside known, and does the stated bound hold?",
		Long: `Launches every platform again and again, at rest and busy, and gives the bounds
within which the clocks inside are known: containers are promised within 1 ms,
virtual machines within 5 ms. Containers have the host's own clock, so their true
offset is 0, and the bound can be checked; a virtual machine's is checked by
leaving each burst of round trips out and fitting the others. Steps of 1 s, 10 ms
and 3 ms are put into what was measured, to see which are found.

Exit status: 0 every claim holds; 2 one is open; 4 if a bound is wider than promised, does not hold, or a step of a
second is missed.`,
		Example: "  tare selftest clock\n  tare selftest clock --platforms native,docker --blocks 3",
		Args:    cobra.NoArgs,
		RunE: t.proving(a, func() (*prove.Test, error) {
			return prove.Clock(t.platforms, t.cases, t.group)
		}),
	}
	t.flags(c, []string{"native", "lxc", "docker", "qemu-tcg"}, "test")
	t.caseFlag(c, selftest.ClockCases(), "the cases")
	t.blocksFlag(c, 10, 3, ofEach)
	return c
}

func selftestSumCommand(a *app) *cobra.Command {
	var t part
	c := &cobra.Command{
		Use:   "sum",
		Short: "Check that guest, layer and rest of the host sum to the host's CPU time",
		Long: `Runs the workloads of the built-in experiments on each platform and sets what was
measured of guest, layer, far ends of the network and rest of the host against
the host's own counter of busy time, which knows nothing of them. What is missing
is unattributed; it is to be at most 3 %. Platforms that cannot run here are left out.

Exit status: 0 the claim holds; 2 it is open; 4 it surely does not.`,
		Example: "  tare selftest sum\n  tare selftest sum --platforms native,docker --blocks 3",
		Args:    cobra.NoArgs,
		RunE: t.proving(a, func() (*prove.Test, error) {
			return prove.Sum(t.platforms, t.group), nil
		}),
	}
	t.flags(c, []string{"native", "lxc", "docker", "qemu-tcg"}, "test")
	t.blocksFlag(c, 2, 1, "blocks to measure")
	return c
}

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/selftest"
	"tare/internal/store"
)

// maxSlowdown is the largest that can be asked for, in percent: beyond it, there
// is nothing to find.
const maxSlowdown = 50

func (a *app) selftestInjectCommand() *cobra.Command {
	var t trialSet
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
		RunE: func(c *cobra.Command, _ []string) error {
			if err := t.checkOf(a, selftest.InjectCases()); err != nil {
				return err
			}
			if runs < 1 {
				return usageError("--runs %d: must be positive", runs)
			}
			shares, err := readSlowdowns(sizes)
			if err != nil {
				return err
			}
			text, err := selftest.InjectSpec(t.platforms, t.cases, shares, runs*selftest.Rule().Min)
			if err != nil {
				return err
			}
			return a.trials(c.Context(), selftest.PartInject, text, &t, func(r *store.Run) error { return a.endInject(r, t) })
		},
	}
	t.group = selftest.Rule().Min
	f := c.Flags()
	f.StringSliceVar(&t.platforms, "platforms", []string{"native", "lxc", "docker"}, "the platforms to slow down")
	f.StringSliceVar(&t.cases, "cases", selftest.InjectCases(), "what is slowed down: "+strings.Join(selftest.InjectCases(), ", "))
	f.StringVarP(&t.out, "output", "o", "", "directory of the run (default results/ID); one that is there is gone on with")
	t.forceFlag(c)
	t.m.flags(c)
	f.IntVar(&runs, "runs", 6, "runs of each platform, case and slowdown, at most")
	f.StringSliceVar(&sizes, "slowdowns", []string{"2", "5", "10", "20"}, "the slowdowns, in percent")
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

func (a *app) endInject(r *store.Run, t trialSet) error {
	in, err := selftest.EvaluateInject(r.Plan(), r.Outcomes())
	if err != nil {
		return err
	}
	t.asJSON = t.m.asJSON
	return a.keep(in.Finding(), originOf(r), *r.Host(), t.keeping)
}

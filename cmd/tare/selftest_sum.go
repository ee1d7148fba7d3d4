package main

import (
	"github.com/spf13/cobra"

	"tare/internal/overhead"
	"tare/internal/selftest"
	"tare/internal/store"
)

func (a *app) selftestSumCommand() *cobra.Command {
	var t trialSet
	var blocks int
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
		RunE: func(c *cobra.Command, _ []string) error {
			if blocks < 1 {
				return usageError("--blocks %d: must be positive", blocks)
			}
			if err := t.checkPlatforms(a); err != nil {
				return err
			}
			text := selftest.SumSpec(t.platforms, blocks)
			return a.trials(c.Context(), selftest.PartSum, text, &t, func(r *store.Run) error { return a.endSum(r, t) })
		},
	}
	f := c.Flags()
	f.StringSliceVar(&t.platforms, "platforms", []string{"native", "lxc", "docker", "qemu-tcg"}, "the platforms to test")
	f.IntVar(&blocks, "blocks", 2, "blocks to measure")
	f.StringVarP(&t.out, "output", "o", "", "directory of the run (default results/ID); one that is there is gone on with")
	t.forceFlag(c)
	t.m.flags(c)
	return c
}

func (a *app) endSum(r *store.Run, t trialSet) error {
	result, err := overhead.Analyze(r)
	if err != nil {
		return err
	}
	done, err := measured(r)
	if err != nil {
		return err
	}
	t.asJSON = t.m.asJSON
	return a.keep(selftest.EvaluateSum(result).Finding(done), originOf(r), *r.Host(), t.keeping)
}

package main

import (
	"github.com/spf13/cobra"

	"tare/internal/agent"
	"tare/internal/selftest"
	"tare/internal/store"
)

func (a *app) selftestClockCommand() *cobra.Command {
	var t trialSet
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
		RunE: func(c *cobra.Command, _ []string) error {
			if err := t.checkOf(a, selftest.ClockCases()); err != nil {
				return err
			}
			text, err := selftest.ClockSpec(t.platforms, t.cases, t.group)
			if err != nil {
				return err
			}
			return a.trials(c.Context(), selftest.PartClock, text, &t, func(r *store.Run) error { return a.endClock(r, t) })
		},
	}
	t.flagsOf(c, []string{"native", "lxc", "docker", "qemu-tcg"}, selftest.ClockCases(), selftest.ClockCases(), 10)
	return c
}

func (a *app) endClock(r *store.Run, t trialSet) error {
	clocks, err := selftest.EvaluateClock(r.Plan(), r.Outcomes(), agent.FitClock)
	if err != nil {
		return err
	}
	done, err := measured(r)
	if err != nil {
		return err
	}
	t.asJSON = t.m.asJSON
	return a.keep(clocks.Finding(done), originOf(r), *r.Host(), t.keeping)
}

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/analysis/stats"
	"tare/internal/app/prove"
	"tare/internal/result/store"
)

// stopTest is what the self-test of the stopping rule is asked for.
type stopTest struct {
	part
	set      []string
	runs     []string
	interval string
	rule     prove.Rule
}

func selftestStopCommand(a *app) *cobra.Command {
	var t stopTest
	c := &cobra.Command{
		Use:   "stop",
		Short: "Set the stopping rule against fixed numbers of blocks",
		Long: `Measures the cases of the built-in experiment quick in as many blocks as the
stopping rule may need, without stopping, and replays the rule on them from
several starting blocks: when would each case have ended, how wide are the
intervals, and how long did that take, against fixed numbers of blocks? Trials
are shorter than those of quick, for there are ten times as many.

With --run it measures nothing and replays the rule on runs that are there,
which needs no root. Only the rule that specifications have by default, against
10 and 30 blocks, is promised and enters the certificate; another one is printed
and not kept.

Exit status: 0 the claims hold; 2 one is open, or the runs have too few blocks; 4
one surely does not hold.`,
		Example: `  tare selftest stop -o stop --max-time 10m
  tare selftest stop --run stop --interval 5%`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := t.settle(); err != nil {
				return err
			}
			if len(t.runs) > 0 {
				return t.replay(a)
			}
			if err := t.check(a); err != nil {
				return err
			}
			test, err := t.rule.Test(t.platforms, t.set)
			if err != nil {
				return err
			}
			return t.measure(c.Context(), a, test, func(r *store.Run) error { return t.end(a, r) })
		},
	}
	f := c.Flags()
	t.flags(c, []string{"native", "lxc", "docker"}, "measure")
	f.StringArrayVar(&t.set, "set", nil, "replace a value of the specification: path=value (repeatable)")
	f.StringSliceVar(&t.runs, "run", nil, "replay the rule on these runs of enough blocks and measure nothing (repeatable)")
	f.StringVar(&t.interval, "interval", "1.5%", "half width of the interval at which a platform ends")
	f.IntVar(&t.rule.Min, "min", 5, "fewest blocks")
	f.IntVar(&t.rule.Max, "max", 30, "most blocks")
	f.IntSliceVar(&t.rule.Against, "against", []int{10, 30}, "fixed numbers of blocks to compare with")
	return c
}

// settle settles the rule to replay.
func (t *stopTest) settle() (err error) {
	u := &t.rule
	u.Interval, err = parseShare("--interval", t.interval)
	switch {
	case err != nil:
		return err
	case u.Interval == 0:
		return usageError("--interval %s: an interval has some width", t.interval)
	case u.Min < stats.MinTested:
		return usageError("--min %d: an interval needs at least %d", u.Min, stats.MinTested)
	case slices.ContainsFunc(u.Against, func(n int) bool { return n < stats.MinTested }):
		return usageError("--against %v: an interval needs at least %d blocks", u.Against, stats.MinTested)
	case u.Max < u.Min:
		return usageError("--max %d is less than --min %d", u.Max, u.Min)
	}
	u.Looks = stats.Looks(u.Min, u.Max)
	return t.m.check()
}

// replay replays the rule on runs that are there, which needs no root.
func (t *stopTest) replay(a *app) (err error) {
	var runs []*store.Run
	for _, dir := range t.runs {
		r, err := store.Open(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		runs = append(runs, r)
	}
	return t.end(a, runs...)
}

// end shows what the rule would have done in the runs, and keeps it.
func (t *stopTest) end(a *app, runs ...*store.Run) error {
	f, tooFew, err := t.rule.Replay(runs...)
	if err != nil {
		return err
	}
	if err := t.print(a, f); err != nil {
		return err
	}
	if tooFew != nil {
		return &statusError{exitUndecided, tooFew}
	}
	if !t.rule.Promised() {
		fmt.Fprintln(a.stderr, "not kept: only the rule that specifications have by default, against 10 and 30 blocks, is promised and enters the certificate")
		return nil
	}
	return worst(prove.CertifyReplay(a.site, f, runs[0], a.asked(), t.force), claimStatus(f.Claims))
}

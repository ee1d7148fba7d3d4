package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/experiment"
	"tare/internal/selftest"
	"tare/internal/stats"
	"tare/internal/store"
)

// stopTest is what the self-test of the stopping rule is asked for.
type stopTest struct {
	trialSet
	runs     []string
	interval string
	min, max int
	against  []int
}

func (a *app) selftestStopCommand() *cobra.Command {
	var t stopTest
	c := &cobra.Command{
		Use:   "stop",
		Short: "Set the stopping rule against fixed numbers of blocks",
		Long: `Measures the cases of the built-in experiment quick in as many blocks as the
stopping rule may need, without stopping, and replays the rule on them from
several starting blocks: when would each case have ended, how wide are the
intervals, and how long did that take, against fixed numbers of blocks? Trials
are shorter than those of quick, for there are ten times as many.

With --run it measures nothing and replays the rule on runs that are there. Only
the rule that specifications have by default enters the certificate.`,
		Example: `  tare selftest stop -o stop --max-time 10m
  tare selftest stop --run stop --interval 5%`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			u, err := t.until()
			if err != nil {
				return err
			}
			t.asJSON = t.m.asJSON
			if len(t.runs) > 0 {
				return a.replayStop(u, &t)
			}
			text, err := experiment.Find("quick")
			if err != nil {
				return err
			}
			t.set = append([]string{
				fmt.Sprintf("blocks=%d", u.Max), "timing.warmup=300ms", "timing.measure=1s", "timing.cooldown=100ms",
				"platforms=[" + strings.Join(quoteAll(joinOptions(t.platforms)), ", ") + "]",
			}, t.set...)
			return a.trials(c.Context(), "selftest-stop", text, &t.trialSet, func(r *store.Run) error { return a.endStop(u, &t, r) })
		},
	}
	f := c.Flags()
	f.StringSliceVar(&t.platforms, "platforms", []string{"native", "lxc", "docker"}, "the platforms to measure")
	f.StringArrayVar(&t.set, "set", nil, "replace a value of the specification: path=value (repeatable)")
	f.StringVarP(&t.out, "output", "o", "", "directory of the run (default results/ID); one that is there is gone on with")
	f.StringSliceVar(&t.runs, "run", nil, "replay the rule on these runs of enough blocks and measure nothing (repeatable)")
	f.StringVar(&t.interval, "interval", "3%", "half width wanted of every interval")
	f.IntVar(&t.min, "min", 5, "fewest blocks")
	f.IntVar(&t.max, "max", 30, "most blocks")
	f.IntSliceVar(&t.against, "against", []int{10, 30}, "fixed numbers of blocks to compare with")
	t.forceFlag(c)
	t.m.flags(c)
	return c
}

// until is the rule to replay.
func (t *stopTest) until() (bench.Until, error) {
	wanted, err := parseShare("--interval", t.interval)
	switch {
	case err != nil:
		return bench.Until{}, err
	case wanted == 0:
		return bench.Until{}, usageError("--interval %s: an interval has some width", t.interval)
	case t.min < stats.MinPairs:
		return bench.Until{}, usageError("--min %d: an interval needs at least %d", t.min, stats.MinPairs)
	case slices.ContainsFunc(t.against, func(n int) bool { return n < stats.MinPairs }):
		return bench.Until{}, usageError("--against %v: an interval needs at least %d blocks", t.against, stats.MinPairs)
	case t.max < t.min:
		return bench.Until{}, usageError("--max %d is less than --min %d", t.max, t.min)
	}
	return bench.Until{Interval: wanted, Min: t.min, Max: t.max, Looks: stats.Looks(t.min, t.max)}, t.m.check()
}

func (a *app) replayStop(u bench.Until, t *stopTest) (err error) {
	var runs []*store.Run
	for _, dir := range t.runs {
		r, err := store.Open(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		runs = append(runs, r)
	}
	return a.endStop(u, t, runs...)
}

func (a *app) endStop(u bench.Until, t *stopTest, runs ...*store.Run) error {
	var ran []selftest.Ran
	for _, r := range runs {
		ran = append(ran, selftest.Ran{Plan: r.Plan(), Outcomes: r.Outcomes()})
	}
	s, err := selftest.EvaluateStopping(u, t.against, ran...)
	if err != nil {
		return err
	}
	f := s.Finding()
	switch standard := u.Interval == 0.03 && u.Min == 5 && u.Max == 30 && slices.Equal(t.against, []int{10, 30}); {
	case standard:
		return a.keep(f, originOf(runs[0]), *runs[0].Host(), t.keeping)
	case t.asJSON:
		return writeJSON(a.stdout, s)
	}
	return printFinding(a.stdout, f)
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
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
			u, err := t.until()
			if err != nil {
				return err
			}
			t.asJSON = t.m.asJSON
			if len(t.runs) > 0 {
				return a.replayStop(u, &t)
			}
			if err := t.checkPlatforms(a); err != nil {
				return err
			}
			text, err := experiment.Find("quick")
			if err != nil {
				return err
			}
			t.set = append([]string{
				fmt.Sprintf("blocks=%d", u.Max), "timing.warmup=300ms", "timing.measure=1s", "timing.cooldown=100ms",
				"platforms=[" + strings.Join(quoteAll(t.platforms), ", ") + "]",
			}, t.set...)
			return a.trials(c.Context(), selftest.PartStop, text, &t.trialSet, func(r *store.Run) error { return a.endStop(u, &t, r) })
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

// replayStop replays the rule on runs that are there, which needs no root.
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

// endStop shows what the rule would have done in the runs, and keeps it.
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
	if t.asJSON {
		err = writeJSON(a.stdout, s)
	} else {
		err = printFinding(a.stdout, f)
	}
	if err != nil {
		return err
	}
	if s.Whole < u.Max {
		hint := fmt.Sprintf("measure a run with --set blocks=%d", u.Max)
		if s.Whole >= max(u.Min, stats.MinPairs) {
			hint += fmt.Sprintf(", or replay a rule that ends earlier: --max %d", s.Whole)
		}
		return &statusError{exitUndecided, fmt.Errorf("replay the stopping rule: it may need %d blocks, and only %d have an outcome of every trial%w",
			u.Max, s.Whole, bench.Hint(hint))}
	}
	if !standard(u, t) {
		fmt.Fprintln(a.stderr, "not kept: only the rule that specifications have by default, against 10 and 30 blocks, is promised and enters the certificate")
		return nil
	}
	return worst(a.keepStop(f, t, runs[0]), claimStatus(f.Claims))
}

// keepStop puts the finding into the certificate, or says why not.
func (a *app) keepStop(f *selftest.Finding, t *stopTest, r *store.Run) error {
	old, err := selftest.Read(a.certificateDir())
	if err != nil {
		return err
	}
	why := ""
	switch {
	case old != nil && !old.OfHost(r.Host()) && !t.force:
		why = "the run is of another host or kernel than the certificate; --force begins a new one"
	default:
		o := originOf(r)
		o.Command = a.asked()
		err := a.certify(f, o, *r.Host(), t.force)
		if !errors.Is(err, fs.ErrPermission) {
			return err
		}
		why = err.Error() + "; root may write it"
	}
	fmt.Fprintf(a.stderr, "not kept: %s\n", why)
	return nil
}

// standard reports whether the rule is the default one, against the usual designs.
func standard(u bench.Until, t *stopTest) bool {
	d := selftest.Rule()
	return u.Interval == d.Interval && u.Min == d.Min && u.Max == d.Max && slices.Equal(t.against, []int{10, 30})
}

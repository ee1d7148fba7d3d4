package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/selftest"
	"tare/internal/store"
)

func (a *app) selftestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Test on this host whether the numbers can be trusted",
		Long: `Tests this program on this host. Each part is a run of its own and writes its
findings into the certificate, STATE/selftest/certificate.json and .html, which
tare run and tare resume cite on this host.`,
		Example: "  tare selftest aa\n  tare selftest aa --platforms native,docker --max-time 10m",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.selftestAACommand())
	return c
}

// trialSet is what the parts of the self-test have in common.
type trialSet struct {
	platforms []string
	cases     []string
	group     int
	out       string
	m         manner
}

func (t *trialSet) flags(c *cobra.Command, platforms, cases []string, group int) {
	f := c.Flags()
	f.StringSliceVar(&t.platforms, "platforms", platforms, "the platforms to test")
	f.StringSliceVar(&t.cases, "cases", cases, "the cases: "+strings.Join(selftest.Cases(), ", "))
	f.IntVar(&t.group, "blocks", group, "blocks of each comparison, at least 3")
	f.StringVarP(&t.out, "output", "o", "", "directory of the run (default results/ID); one that is there is gone on with")
	t.m.flags(c)
}

func (t *trialSet) check() error {
	t.platforms = joinOptions(t.platforms)
	if t.group < 3 {
		return usageError("--blocks %d: an interval needs at least 3", t.group)
	}
	for _, p := range t.platforms {
		if strings.Contains(p, bench.AliasOption+"=") {
			return usageError("--platforms %s: the self-test gives the second name itself", p)
		}
	}
	for _, n := range t.cases {
		if !slices.Contains(selftest.Cases(), n) {
			return usageError("--cases %q: it is one of %s", n, strings.Join(selftest.Cases(), ", "))
		}
	}
	return t.m.check()
}

// trials begins the experiment, or goes on with it where its directory is there.
func (a *app) trials(ctx context.Context, name string, text []byte, t *trialSet, end func(*store.Run) error) error {
	t.m.end = end
	if t.out == "" {
		t.out = filepath.Join("results", newID(time.Now()))
	}
	t.m.again = "the same command with -o " + t.out
	if _, err := os.Stat(filepath.Join(t.out, "run.json")); err == nil {
		return a.resume(ctx, t.out, t.m)
	}
	r := &request{name: name, text: text}
	return a.run(ctx, r, t.out, t.m)
}

func (a *app) selftestAACommand() *cobra.Command {
	var t trialSet
	var comparisons int
	c := &cobra.Command{
		Use:   "aa",
		Short: "Compare platforms with themselves: how often are they called different?",
		Long: `Measures each platform under two names, in blocks. Every so many consecutive
blocks are one comparison, decided just as a report decides. Nothing differs, so
each "differs" is a mistake; the share of mistakes is given with its exact
binomial interval. Intervals that exclude 1 are counted apart: 5 % of them are to
be expected.

Exit status 4 if the mistakes are surely more than 5 %.`,
		Example: "  tare selftest aa\n  tare selftest aa --comparisons 60 --cases startup,cpu -o aa --max-time 5m",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := t.check(); err != nil {
				return err
			}
			if comparisons < 1 {
				return usageError("--comparisons %d: must be positive", comparisons)
			}
			blocks := selftest.AABlocks(comparisons, t.group, len(t.platforms), len(t.cases))
			text, err := selftest.AASpec(t.platforms, t.cases, blocks)
			if err != nil {
				return err
			}
			return a.trials(c.Context(), "selftest-aa", text, &t, func(r *store.Run) error { return a.endAA(r, t) })
		},
	}
	t.flags(c, []string{"native", "lxc", "docker"}, selftest.Cases(), 5)
	c.Flags().IntVar(&comparisons, "comparisons", 200, "comparisons to make, at least")
	return c
}

// tolerated is the share of false alarms the program promises to stay below.
const tolerated = 0.05

func (a *app) endAA(r *store.Run, t trialSet) error {
	aa, err := selftest.EvaluateAA(r.Plan(), r.Outcomes(), t.group)
	if err != nil {
		return err
	}
	h := r.Header()
	c := selftest.Certificate{
		Date: h.Started, Tare: h.Tare, Command: h.Command, Run: h.Run, Versions: map[string]string{}, Host: *r.Host(), AA: aa,
	}
	for name, p := range h.Platforms {
		c.Versions[name] = p.Version
	}
	if err := c.Write(a.certificateDir()); err != nil {
		return err
	}
	if t.m.asJSON {
		err = writeJSON(a.stdout, aa)
	} else {
		err = printAA(a.stdout, aa)
	}
	if err == nil && aa.Different.Low > tolerated {
		err = &statusError{exitHost, errors.New("identical platforms are called different in more than 5 % of the comparisons")}
	}
	return err
}

// certificateDir is where the self-test's findings are kept.
func (a *app) certificateDir() string { return filepath.Join(a.state, "selftest") }

// cite prints what the self-test found on the run's host.
func (a *app) cite(r *store.Run) error {
	c, err := selftest.Read(a.certificateDir())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, c.Citation(r.Host()))
	return err
}

func printAA(w io.Writer, aa *selftest.AA) error {
	fmt.Fprintf(w, "platforms compared with themselves, %d blocks a comparison\n\n", aa.Group)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PLATFORM\tCASE\tCOMPARISONS\tCALLED DIFFERENT\tINTERVALS WITHOUT 1")
	for _, row := range aa.Rows {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\n", row.Platform, row.Case, row.Different.N, row.Different, row.Excludes)
	}
	fmt.Fprintf(tw, "all\t\t%d\t%s\t%s\n", aa.Different.N, aa.Different, aa.Excludes)
	if aa.Refused > 0 {
		fmt.Fprintf(tw, "\n%d comparisons had too few finished trials\n", aa.Refused)
	}
	return tw.Flush()
}

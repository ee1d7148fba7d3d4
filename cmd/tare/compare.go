package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/analysis/compare"
	"tare/internal/bench"
	"tare/internal/report"
	"tare/internal/result/store"
)

// errUnfair says that two runs must not be compared.
var errUnfair = errors.New("the runs must not be compared")

func compareCommand(a *app) *cobra.Command {
	var o compare.Options
	var asJSON, all bool
	var archive []string
	c := &cobra.Command{
		Use:        "compare A... with B... | A B",
		SuggestFor: []string{"diff"},
		Short:      "Compare runs: what changed from A to B, and how sure that is",
		Long: `Compare sets the runs B against the runs A: for every platform in every case,
the ratio of B's launches to A's with a 95 % interval, p of a test and the same
corrected over the table. The launches of two runs are not paired. Runs that must
not be compared (other image, machine, limits, parameters) get no ratio. Where
scenes are set against others (relative), what is left is compared, too.

One run a side speaks for these two runs only: what differs from one run to the
next is in no interval. With two runs a side, better three, a run is one
observation; where a side is one run, other runs of the same host (the other
side's, or those in --archive) tell how much its runs differ.

Exit status: 0 every change in a case's main metric is decided; 2 one is not; 3 the
runs must not be compared.`,
		Example: `  tare compare results/before results/after
  tare compare results/a1 results/a2 results/a3 with results/b1 results/b2 results/b3
  tare compare results/before results/after --archive results
  tare compare results/before results/after --relative-to-baseline`,
		Args: bothSides,
		RunE: func(_ *cobra.Command, args []string) error {
			got, err := compareRuns(args, archive, o)
			if err != nil {
				return err
			}
			if err := a.show(asJSON, got, func(w io.Writer) error { return report.Comparison(w, got, all) }); err != nil {
				return err
			}
			return changeStatus(a.stderr, got)
		},
	}
	compareFlags(c, &o, &archive, &asJSON)
	c.Flags().BoolVar(&all, "all", false, "in text, every metric and not only the main one of each case")
	return c
}

func compareFlags(c *cobra.Command, o *compare.Options, archive *[]string, asJSON *bool) {
	c.Flags().StringArrayVar(archive, "archive", nil, "learn how much runs of this host differ from this run, or from the runs in this folder; may be repeated")
	c.Flags().BoolVar(&o.Relative, "relative-to-baseline", false, "compare the ratios to the baseline of the same block, which takes out what moved the whole host")
	c.Flags().BoolVar(&o.AllowUnfair, "allow-unfair", false, "give ratios also where the runs must not be compared; they wear the reason")
	c.Flags().BoolVar(asJSON, "json", false, "print JSON (docs/FORMAT.md)")
}

func gateCommand(a *app) *cobra.Command {
	var o compare.Options
	var asJSON bool
	var limit, junit string
	var asked compare.Asked
	var archive []string
	c := &cobra.Command{
		Use:   "gate A... with B... | A B | RUN",
		Short: "Decide whether B got worse than A by more than a limit, for CI",
		Long: `Gate compares the runs B with the runs A (tare compare) and decides on every
main metric of every case on every platform, and on what is left of it where a
scene is set against another (relative). Exit status: 0 pass, surely no worse than
the limit; 1 regression, surely worse than the limit; 2 inconclusive; 3 the runs
must not be compared, or the question is invalid.

One run a side speaks for these two runs only: it may pass, but a regression in
these two runs is inconclusive, since the run may be slower and not the platform.
Give several runs a side, or earlier runs of this host (--archive).

RUN alone holds both sides: its platforms are variants of its baseline (tare ab),
and the gate decides on each of them against that, block by block.`,
		Example: `  tare gate results/main results/branch --max-regression 5% --archive results
  tare gate results/main-* with results/branch-* --max-regression 5%
  tare gate results/main results/branch --max-regression 5% --metric throughput --junit gate.xml
  tare gate results/ab --max-regression 5%`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == against {
				return bothSides(c, args)
			}
			if o.Relative || archive != nil {
				return usageError("one run holds both sides: --relative-to-baseline and --archive are of several runs")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			most, err := parseShare("--max-regression", limit)
			if err != nil {
				return err
			}
			got, err := compareRuns(args, archive, o)
			if err != nil {
				return err
			}
			g, err := compare.Judge(got, most, asked)
			if err != nil {
				return err
			}
			if junit != "" {
				if err := writeJUnit(junit, g); err != nil {
					return err
				}
			}
			if err := a.show(asJSON, g, func(w io.Writer) error { return report.Gate(w, g) }); err != nil {
				return err
			}
			return gateStatus(g.Decision)
		},
	}
	compareFlags(c, &o, &archive, &asJSON)
	c.Flags().StringVar(&limit, "max-regression", "", "the worsening allowed, such as 5% or 0.05")
	c.Flags().StringSliceVar(&asked.Metrics, "metric", nil, "decide on these metrics instead of those that speak for a case")
	c.Flags().StringSliceVar(&asked.Platforms, "platforms", nil, "decide on these platforms instead of all but the baseline")
	c.Flags().StringVar(&junit, "junit", "", "write the decisions to this file as JUnit XML")
	return c
}

// parseShare reads a flag's "5%" or "0.05".
func parseShare(flag, s string) (float64, error) {
	if s == "" {
		return 0, usageError("%s is missing: give a share such as 5%%", flag)
	}
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1) {
		return 0, usageError("%s %q: give a share from 0 to below 100%%, such as 5%% or 0.05", flag, s)
	}
	return v, nil
}

// against is the word between the runs of A and those of B.
const against = "with"

// bothSides checks that the arguments name runs of two sides. A run alone is told which verb
// looks into it. A file alone passes: whoever opens it says that it is no run.
func bothSides(_ *cobra.Command, args []string) error {
	a, b := sidesOf(args)
	switch {
	case len(args) == 1 && len(a) == 1 && isRun(a[0]):
		return usageError("one run is given: to set its platforms or cases against each other, tare report %s --baseline PLATFORM, or --against CASE=OTHER", a[0])
	case len(args) == 1 && len(a) == 1 && isFile(a[0]):
		return nil
	case len(a) == 0 || len(b) == 0:
		return usageError("give two runs, or several of each side: A1 A2 A3 %s B1 B2 B3", against)
	}
	return nil
}

// sidesOf are the folders of A and of B: two, or any number around the word. B is
// empty if there is neither.
func sidesOf(args []string) (a, b []string) {
	if i := slices.Index(args, against); i >= 0 {
		return args[:i], args[i+1:]
	}
	if len(args) == 2 {
		return args[:1], args[1:]
	}
	return args, nil
}

func compareRuns(args, archive []string, o compare.Options) (*compare.Comparison, error) {
	dirsA, dirsB := sidesOf(args)
	archived, err := runsIn(archive)
	if err != nil {
		return nil, err
	}
	var sides [3][]compare.Run
	for i, dirs := range [][]string{dirsA, dirsB, archived} {
		for _, dir := range dirs {
			r, err := store.Open(dir)
			if err != nil {
				return nil, err
			}
			defer r.Close()
			result, err := analyze(r, analysis.Options{AllowUnfair: o.AllowUnfair})
			if err != nil {
				return nil, err
			}
			sides[i] = append(sides[i], compare.Run{Store: r, Result: result})
		}
	}
	if len(args) == 1 {
		return compare.Within(sides[0][0])
	}
	o.Archive = sides[2]
	return compare.Runs(sides[0], sides[1], o)
}

const archiveHint = bench.Hint("name a run's folder, or one that holds such folders, such as results")

// runsIn are the runs that folders are, or hold.
func runsIn(dirs []string) ([]string, error) {
	var runs []string
	for _, dir := range dirs {
		if isRun(dir) {
			runs = append(runs, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("archive: %w: %w%w", err, bench.ErrInvalid, archiveHint)
		}
		found := len(runs)
		for _, e := range entries {
			if sub := filepath.Join(dir, e.Name()); isRun(sub) {
				runs = append(runs, sub)
			}
		}
		if len(runs) == found {
			return nil, fmt.Errorf("archive %s: no run in it: %w%w", dir, bench.ErrInvalid, archiveHint)
		}
	}
	return runs, nil
}

// isRun reports whether a folder holds the file that makes it a run.
func isRun(dir string) bool { return isFile(filepath.Join(dir, "run.json")) }

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

func writeJUnit(path string, g *compare.Gate) error {
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(report.GateJUnit(f, g), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

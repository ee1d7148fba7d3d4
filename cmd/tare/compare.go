package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/compare"
	"tare/internal/report"
	"tare/internal/store"
)

// errUnfair says that two runs must not be compared.
var errUnfair = errors.New("the runs must not be compared")

func (a *app) compareCommand() *cobra.Command {
	var o compare.Options
	var asJSON, all bool
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two runs: what changed from A to B, and how sure that is",
		Long: `Compare sets run B against run A: for every platform in every case, the ratio
of B's launches to A's with a 95 % interval, p of a permutation test and the
same corrected over the table. The launches of two runs are not paired. Runs that
must not be compared (other image, machine, limits, parameters) get no ratio.
Where scenes are set against others (relative), what is left is compared, too.

Exit status: 0 every headline change is decided; 2 one is not; 3 the runs must
not be compared.`,
		Example: `  tare compare results/before results/after
  tare compare results/before results/after --relative-to-baseline`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			got, err := compareRuns(args[0], args[1], o)
			if err != nil {
				return err
			}
			if asJSON {
				err = report.IndentedJSON(a.stdout, got)
			} else {
				err = report.Comparison(a.stdout, got, all)
			}
			if err != nil {
				return err
			}
			return a.changeStatus(got)
		},
	}
	compareFlags(c, &o, &asJSON)
	c.Flags().BoolVar(&all, "all", false, "in text, every metric and not only the headline ones")
	return c
}

func compareFlags(c *cobra.Command, o *compare.Options, asJSON *bool) {
	c.Flags().BoolVar(&o.Relative, "relative-to-baseline", false, "compare the ratios to the baseline of the same block, which takes out what moved the whole host")
	c.Flags().BoolVar(&o.AllowUnfair, "allow-unfair", false, "give ratios also where the runs must not be compared; they wear the reason")
	c.Flags().BoolVar(asJSON, "json", false, "print JSON (docs/FORMAT.md)")
}

func (a *app) gateCommand() *cobra.Command {
	var o compare.Options
	var asJSON bool
	var limit, junit string
	var metrics []string
	c := &cobra.Command{
		Use:   "gate A B --max-regression 5%",
		Short: "Decide whether run B got worse than run A by more than a limit, for CI",
		Long: `Gate compares run B with run A and decides on every headline metric of every
platform in every case, and on what is left of it where a scene is set against
another (relative). Exit status: 0 pass, surely no worse than the limit; 1
regression, surely worse than the limit; 2 inconclusive; 3 the runs must not
be compared, or the question is invalid.`,
		Example: `  tare gate results/main results/branch --max-regression 5%
  tare gate results/main results/branch --max-regression 5% --metric throughput --junit gate.xml`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			most, err := parseShare("--max-regression", limit)
			if err != nil {
				return err
			}
			got, err := compareRuns(args[0], args[1], o)
			if err != nil {
				return err
			}
			g, err := compare.Judge(got, most, metrics)
			if err != nil {
				return err
			}
			if junit != "" {
				if err := writeJUnit(junit, g); err != nil {
					return err
				}
			}
			if asJSON {
				err = report.IndentedJSON(a.stdout, g)
			} else {
				err = report.Gate(a.stdout, g)
			}
			if err != nil {
				return err
			}
			return gateStatus(g.Decision)
		},
	}
	compareFlags(c, &o, &asJSON)
	c.Flags().StringVar(&limit, "max-regression", "", "the worsening allowed, such as 5% or 0.05")
	c.Flags().StringSliceVar(&metrics, "metric", nil, "decide on these metrics instead of the headline ones")
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

func compareRuns(dirA, dirB string, o compare.Options) (*compare.Comparison, error) {
	a, err := analyzed(dirA, o.AllowUnfair)
	if err != nil {
		return nil, err
	}
	defer a.Store.Close()
	b, err := analyzed(dirB, o.AllowUnfair)
	if err != nil {
		return nil, err
	}
	defer b.Store.Close()
	return compare.Runs(a, b, o)
}

// analyzed opens and analyzes a run; the caller closes its store.
func analyzed(dir string, allowUnfair bool) (compare.Run, error) {
	r, err := store.Open(dir)
	if err != nil {
		return compare.Run{}, err
	}
	result, err := analyze(r, allowUnfair)
	if err != nil {
		r.Close()
		return compare.Run{}, err
	}
	return compare.Run{Store: r, Result: result}, nil
}

func writeJUnit(path string, g *compare.Gate) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	if err := report.GateJUnit(f, g); err != nil {
		f.Close()
		return fmt.Errorf("write JUnit: %w", err)
	}
	return f.Close()
}

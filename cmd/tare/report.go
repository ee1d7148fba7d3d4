package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/app/prove"
	"tare/internal/bench"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/result/store"
)

// formats are those of a report.
var formats = []string{"text", "markdown", "html", "json", "csv", "gobench", "junit"}

func reportCommand(a *app) *cobra.Command {
	var format string
	var all bool
	var against []string
	var o analysis.Options
	c := &cobra.Command{
		Use:        "report DIR",
		SuggestFor: []string{"show", "results", "print"},
		Short:      "Report a run, finished or not, from what it stored",
		Long: `Reports a run from what it stored; the run itself is not touched. The exit
status is the one tare run ended with, in every format: 0 every case's main metric
is decided on every platform, 2 not all of them, 3 an unfair comparison, 4 a trial
failed.

Any two platforms of a run can be set against each other (--baseline), and any two
cases that have a metric in common (--against), with the audit of that very pair. With
--baseline the ratios are corrected for how many platforms there are; what is left
(--against) only for the cases set against the same one on a platform.`,
		Example: `  tare report results/20260102-030405-abcd
  tare report results/20260102-030405-abcd --baseline docker
  tare report results/20260102-030405-abcd --against four-alike=cpu
  tare report results/20260102-030405-abcd --format html > report.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			render, ok := map[string]func(io.Writer, *result.Result) error{
				"text": report.Brief, "markdown": report.Markdown, "html": report.HTML, "json": report.JSON, "csv": report.CSV,
				"gobench": report.GoBench, "junit": report.JUnit,
			}[format]
			if !ok {
				return usageError("--format %q: it is one of %s%s", format, strings.Join(formats, ", "), bench.DidYouMean(format, formats))
			}
			if format == "text" && all {
				render = report.Text
			}
			if o.Others, err = others(against); err != nil {
				return err
			}
			r, err := store.Open(args[0])
			if err != nil {
				return err
			}
			defer r.Close()
			result, err := analyze(r, o)
			if err != nil {
				return err
			}
			prove.Cite(a.site, result, r)
			if err := render(a.stdout, result); err != nil {
				return err
			}
			return resultStatus(a.stderr, args[0], result)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "in text, everything and not only what answers the question")
	c.Flags().StringVar(&format, "format", "text", "text, markdown (for a pull request), html, json, csv, gobench (Go benchmark format, for benchstat) or junit")
	c.Flags().StringVar(&o.Baseline, "baseline", "", "set the platforms against this one of them, instead of the experiment's baseline")
	c.Flags().StringArrayVar(&against, "against", nil, "CASE=OTHER: what is left in a case of the performance in another, on each platform; may be repeated")
	allowUnfairFlag(c, &o.AllowUnfair)
	return c
}

// others reads the cases that are set against others.
func others(args []string) ([]analysis.Other, error) {
	var all []analysis.Other
	for _, arg := range args {
		name, to, ok := strings.Cut(arg, "=")
		if !ok || name == "" || to == "" {
			return nil, usageError("--against %q: say CASE=OTHER, such as four-alike=cpu", arg)
		}
		all = append(all, analysis.Other{Case: name, To: to})
	}
	return all, nil
}

// analyze works out what a report of the run shows.
func analyze(r *store.Run, o analysis.Options) (*result.Result, error) {
	o.Repeat = selftestRepeat(r.Header())
	return analysis.AnalyzeWith(r, o)
}

func allowUnfairFlag(c *cobra.Command, allow *bool) {
	c.Flags().BoolVar(allow, "allow-unfair", false, "show ratios of comparisons that the audit found invalid, marked as such")
}

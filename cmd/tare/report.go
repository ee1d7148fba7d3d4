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
	var all, allowUnfair bool
	c := &cobra.Command{
		Use:        "report DIR",
		SuggestFor: []string{"show", "results", "print"},
		Short:      "Report a run, finished or not, from what it stored",
		Long: `Reports a run from what it stored; the run itself is not touched. The exit
status is the one tare run ended with, in every format: 0 every case's main metric
is decided on every platform, 2 not all of them, 3 an unfair comparison, 4 a trial
failed.`,
		Example: `  tare report results/20260102-030405-abcd
  tare report results/20260102-030405-abcd --format html > report.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
			r, err := store.Open(args[0])
			if err != nil {
				return err
			}
			defer r.Close()
			result, err := analyze(r, allowUnfair)
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
	allowUnfairFlag(c, &allowUnfair)
	return c
}

// analyze works out what a report of the run shows.
func analyze(r *store.Run, allowUnfair bool) (*result.Result, error) {
	return analysis.AnalyzeWith(r, analysis.Options{AllowUnfair: allowUnfair, Repeat: selftestRepeat(r.Header())})
}

func allowUnfairFlag(c *cobra.Command, allow *bool) {
	c.Flags().BoolVar(allow, "allow-unfair", false, "show ratios of comparisons that the audit found invalid, marked as such")
}

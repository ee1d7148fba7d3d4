package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/meter/power"
	"tare/internal/workload"
)

func listCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		SuggestFor: []string{"ls"},
		Use:        "list platforms|workloads|experiments|meters",
		Short:      "List what there is to measure with",
		Example:    "  tare list platforms\n  tare list workloads --json",
		Args:       cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:  []string{"platforms", "workloads", "experiments", "meters"},
		RunE: func(c *cobra.Command, args []string) error {
			rows, print := map[string]func(context.Context, planning.Catalog) (any, func(io.Writer) error){
				"platforms": listPlatforms, "workloads": listWorkloads, "meters": listMeters, "experiments": listExperiments,
			}[args[0]](c.Context(), a.catalog())
			return a.show(asJSON, rows, print)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func listPlatforms(_ context.Context, c planning.Catalog) (any, func(io.Writer) error) {
	type row struct {
		Name    string         `json:"name"`
		Summary string         `json:"summary"`
		Options []bench.Option `json:"options,omitempty"`
		// On are the platforms inside of which it runs too, written name@outer.
		On []string `json:"on,omitempty"`
	}
	var rows []row
	for _, p := range c.Platforms() {
		rows = append(rows, row{p.Name(), p.Summary(), p.Options(), c.Outers(p.Name())})
	}
	return rows, func(out io.Writer) error {
		for _, r := range rows {
			fmt.Fprintf(out, "%s  %s\n", r.Name, r.Summary)
			for _, o := range r.Options {
				fmt.Fprintf(out, "    %s=%s  %s\n", o.Name, strings.Join(o.Values, "|"), o.Doc)
			}
		}
		fmt.Fprintln(out, "\nThe first value of an option is what holds where it is not named, such as docker[net=host,storage=volume].")
		fmt.Fprintln(out, "\nNestings, written INNER@OUTER, each with its own options: docker[net=host]@qemu-tcg[cache=writeback]")
		for _, outer := range c.Outers("") {
			var inner []string
			for _, r := range rows {
				if slices.Contains(r.On, outer) {
					inner = append(inner, r.Name)
				}
			}
			fmt.Fprintf(out, "    %s\n", bench.Nested(strings.Join(inner, "|"), outer))
		}
		return nil
	}
}

func listWorkloads(_ context.Context, c planning.Catalog) (any, func(io.Writer) error) {
	type row struct {
		Name     string        `json:"name"`
		Resource string        `json:"resource"`
		Summary  string        `json:"summary"`
		Params   []bench.Param `json:"params,omitempty"`
		Programs []string      `json:"programs,omitempty"`
	}
	var rows []row
	for _, w := range workload.All() {
		rows = append(rows, row{w.Name(), w.Resource(), w.Summary(), w.Params(), w.Programs()})
	}
	return rows, func(out io.Writer) error {
		for _, r := range rows {
			fmt.Fprintf(out, "%s (%s)  %s\n", r.Name, r.Resource, r.Summary)
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			for _, p := range r.Params {
				fmt.Fprintf(w, "    %s\t%s\t%s\t%s\n", p.Name, p.Kind, p.Default, p.Doc)
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		return nil
	}
}

func listExperiments(ctx context.Context, c planning.Catalog) (any, func(io.Writer) error) {
	rows := c.Builtins(ctx)
	return rows, func(out io.Writer) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tPLATFORMS HERE\tTAKES\tQUESTION")
		for _, r := range rows {
			platforms, took := "–", "–"
			if r.Estimate > 0 {
				platforms, took = fmt.Sprint(len(r.Platforms)), figure.Span(r.Estimate)
				if r.Least > 0 && figure.Span(r.Least) != took {
					took = figure.Span(r.Least) + " to " + took
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, platforms, took, r.Title)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out, "\nFigures and tables of papers that they measure anew (tare reproduce runs them):")
		w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, r := range rows {
			if len(r.Shows) > 0 {
				fmt.Fprintf(w, "  %s\t%s\n", r.Name, byPaper(r.Shows))
			}
		}
		return w.Flush()
	}
}

// byPaper names each paper once before its exhibits, which are together.
func byPaper(exhibits []string) string {
	var out, last string
	for _, c := range exhibits {
		paper, exhibit, _ := strings.Cut(c, " ")
		switch {
		case paper == last:
			out += ", " + exhibit
		case out == "":
			out = c
		default:
			out += "; " + c
		}
		last = paper
	}
	return out
}

// listMeters lists the kinds of power meters, as --power takes them.
func listMeters(_ context.Context, c planning.Catalog) (any, func(io.Writer) error) {
	rows := power.Kinds()
	return rows, func(out io.Writer) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Example, r.Doc)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nEvery kind takes every=TIME (between two readings); %s also step=WATTS and update=TIME (what the meter shows). Secrets: env:NAME or file:PATH.\n",
			strings.Join(power.StepKinds(), ", "))
		return nil
	}
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/experiment"
	"tare/internal/host"
	"tare/internal/plan"
	"tare/internal/power"
	"tare/internal/spec"
	"tare/internal/workload"
)

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:       "list platforms|workloads|experiments|meters",
		Short:     "List what there is to measure with",
		Example:   "  tare list platforms\n  tare list workloads --json",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"platforms", "workloads", "experiments", "meters"},
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "platforms":
				return a.listPlatforms(asJSON)
			case "workloads":
				return a.listWorkloads(asJSON)
			case "meters":
				return a.listMeters(asJSON)
			}
			return a.listExperiments(c.Context(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func (a *app) listPlatforms(asJSON bool) error {
	type row struct {
		Name    string         `json:"name"`
		Summary string         `json:"summary"`
		Options []bench.Option `json:"options,omitempty"`
		// On are the platforms inside of which it runs too, written name@outer.
		On []string `json:"on,omitempty"`
	}
	var rows []row
	for _, p := range a.platforms() {
		rows = append(rows, row{p.Name(), p.Summary(), p.Options(), a.outersOf(p.Name())})
	}
	if asJSON {
		return writeJSON(a.stdout, rows)
	}
	for _, r := range rows {
		fmt.Fprintf(a.stdout, "%s  %s\n", r.Name, r.Summary)
		for _, o := range r.Options {
			fmt.Fprintf(a.stdout, "    %s=%s  %s\n", o.Name, strings.Join(o.Values, "|"), o.Doc)
		}
	}
	fmt.Fprintln(a.stdout, "\nThe first value of an option is what holds where it is not named, such as docker[net=host,storage=volume].")
	fmt.Fprintln(a.stdout, "\nNestings, written INNER@OUTER, each with its own options: docker[net=host]@qemu-tcg[cache=writeback]")
	for _, outer := range a.outers() {
		var inner []string
		for _, r := range rows {
			if slices.Contains(r.On, outer) {
				inner = append(inner, r.Name)
			}
		}
		fmt.Fprintf(a.stdout, "    %s\n", bench.Nested(strings.Join(inner, "|"), outer))
	}
	return nil
}

func (a *app) listWorkloads(asJSON bool) error {
	type param struct {
		Name    string          `json:"name"`
		Kind    bench.ParamKind `json:"kind"`
		Default string          `json:"default,omitempty"`
		Words   []string        `json:"words,omitempty"`
		Doc     string          `json:"doc"`
	}
	type row struct {
		Name     string   `json:"name"`
		Resource string   `json:"resource"`
		Summary  string   `json:"summary"`
		Params   []param  `json:"params,omitempty"`
		Programs []string `json:"programs,omitempty"`
	}
	var rows []row
	for _, w := range workload.All() {
		r := row{Name: w.Name(), Resource: w.Resource(), Summary: w.Summary(), Programs: w.Programs()}
		for _, p := range w.Params() {
			r.Params = append(r.Params, param{p.Name, p.Kind, p.Default, p.Words, p.Doc})
		}
		rows = append(rows, r)
	}
	if asJSON {
		return writeJSON(a.stdout, rows)
	}
	for _, r := range rows {
		fmt.Fprintf(a.stdout, "%s (%s)  %s\n", r.Name, r.Resource, r.Summary)
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, p := range r.Params {
			fmt.Fprintf(w, "    %s\t%s\t%s\t%s\n", p.Name, p.Kind, p.Default, p.Doc)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) listExperiments(ctx context.Context, asJSON bool) error {
	type row struct {
		experiment.Info
		// Estimate is how long it would take here, in seconds, and Platforms the
		// platforms that it would measure; absent if it cannot be planned.
		Estimate  float64  `json:"estimate_s,omitempty"`
		Platforms []string `json:"platforms,omitempty"`
	}
	var rows []row
	plans := a.planner(ctx)
	for _, e := range experiment.List() {
		r := row{Info: e}
		if p, err := plans(e.Name); err == nil {
			r.Estimate = p.Estimate
			for _, s := range p.Scenes {
				if name := s.Platform.String(); !slices.Contains(r.Platforms, name) {
					r.Platforms = append(r.Platforms, name)
				}
			}
		}
		rows = append(rows, r)
	}
	if asJSON {
		return writeJSON(a.stdout, rows)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPLATFORMS HERE\tABOUT\tQUESTION")
	for _, r := range rows {
		platforms, took := "–", "–"
		if r.Estimate > 0 {
			platforms, took = fmt.Sprint(len(r.Platforms)), plan.Duration(r.Estimate)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, platforms, took, r.Title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\nPublished figures and tables that they measure anew:")
	w = tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if len(r.Covers) > 0 {
			fmt.Fprintf(w, "  %s\t%s\n", r.Name, byPaper(r.Covers))
		}
	}
	return w.Flush()
}

// byPaper names each paper once before its exhibits, which are together.
func byPaper(covers []string) string {
	var out, last string
	for _, c := range covers {
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
func (a *app) listMeters(asJSON bool) error {
	type row struct {
		Name    string `json:"name"`
		Example string `json:"example"`
		Doc     string `json:"doc"`
		// Options stand behind a "?" or, of a meter of this machine, a ":".
		Options []string `json:"options"`
	}
	var rows []row
	for _, k := range power.Kinds() {
		rows = append(rows, row{k.Name, k.Example, k.Doc, k.Options})
	}
	if asJSON {
		return writeJSON(a.stdout, rows)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Example, r.Doc)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nEvery kind takes every=TIME (between two readings); %s also step=WATTS and update=TIME (what the meter shows). Secrets: env:NAME or file:PATH.\n",
		strings.Join(power.StepKinds(), ", "))
	return nil
}

// planner plans built-in experiments as they would be run here.
func (a *app) planner(ctx context.Context) func(name string) (*bench.Plan, error) {
	facts, err := host.Read("/", a.state)
	if err != nil {
		return func(string) (*bench.Plan, error) { return nil, err }
	}
	in := plan.Inputs{Host: a.planHost(facts), Words: a.vocabulary()}
	in.Available, in.Skips = offer(a.checkAll(ctx, runCheckDeadline))
	return func(name string) (*bench.Plan, error) {
		text, err := experiment.Find(name)
		if err != nil {
			return nil, err
		}
		e, err := spec.Parse(name+".yaml", text, nil, in.Words)
		if err != nil {
			return nil, err
		}
		return plan.Make(e, in)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/analysis/claims"
	"tare/internal/app/planning"
	"tare/internal/app/reproduce"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/papers"
	"tare/internal/report"
	"tare/internal/result/store"
)

// reproducing is what tare reproduce is asked for.
type reproducing struct {
	reproduce.Ask
	all    bool
	seal   bool
	as     []string
	from   []string
	out    string
	format string
	m      manner
}

func reproduceCommand(a *app) *cobra.Command {
	var r reproducing
	c := &cobra.Command{
		Use:        "reproduce [PAPER [EXHIBIT...]]",
		SuggestFor: []string{"replicate", "papers", "claims"},
		Short:      "Measure a paper's figures and tables anew, and judge its claims on this host",
		Long: `Without arguments lists the papers, and with a paper its figures and tables
(exhibits): how near the built-in experiments come to each, and how long it takes
here. With exhibits, or --all, it measures the cases that they need on those of their
platforms that this host has, each experiment in a folder of its own, and says of
every claim whether it holds here, does not, is undecided, or was not asked. Ratios
are compared. Absolute numbers are those of the paper's machine.

With -o DIR of a reproduction that was stopped it goes on. With --from DIR it judges
stored runs and measures nothing.

States: as published, in program, factors, platforms, metric and scene; narrower,
with what is missing; stand-in, another program for a like question; not here.

Exit status: 0 every claim that was asked is decided; 2 not all of them, or it was
stopped; 3 a stored run is none; 4 a trial failed.`,
		Example: `  tare reproduce
  tare reproduce tesfatsion2018
  tare reproduce tesfatsion2018 table3 fig13a --budget 30m
  tare reproduce --all --budget 8h -o results/all
  tare reproduce felter2014 --from results/20260102-030405-abcd`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.take(args); err != nil {
				return err
			}
			return a.reproduce(c.Context(), &r, len(args) > 1 || r.all || r.from != nil)
		},
	}
	f := c.Flags()
	f.BoolVar(&r.all, "all", false, "every exhibit of the paper, or of all papers")
	f.DurationVar(&r.Budget, "budget", 0, "share this time among the experiments, such as 30m")
	f.StringArrayVar(&r.from, "from", nil, "judge the runs in this folder, of a run or of a reproduction, and measure nothing (repeatable)")
	f.StringArrayVar(&r.as, "as", nil, "PAPER'S=OURS: a platform of this host for one of the paper's, such as kvm=qemu-tcg; emulated ones are drawn and not judged (repeatable)")
	f.StringSliceVar(&r.Platforms, "platforms", nil, "of the papers' platforms measure these alone, such as native,docker; one without options stands for all of its variants")
	f.StringArrayVar(&r.Set, "set", nil, "replace a value of every specification: path=value, such as timing.measure=5s (repeatable)")
	f.StringArrayVar(&r.Meters, "power", nil, "read this power meter (repeatable; tare list meters)")
	f.StringVarP(&r.out, "output", "o", "", "directory of the runs and the page (default results/reproduce-ID); one that is there is gone on with")
	f.BoolVar(&r.seal, "archive", false, "write the digests of all files beside them, for who judges them elsewhere: --from there checks them")
	f.StringVar(&r.format, "format", "text", "text, markdown, html or json")
	waitFlag(c, &r.m.Wait)
	f.BoolVarP(&r.m.verbose, "verbose", "v", false, "print a line for each phase of each trial")
	return c
}

// take takes over the arguments and flags.
func (r *reproducing) take(args []string) error {
	if r.Budget < 0 {
		return usageError("--budget %v is negative", r.Budget)
	}
	if len(args) > 1 && r.all {
		return usageError("--all is every exhibit: leave out %s, or --all", strings.Join(args[1:], ", "))
	}
	if renderings[r.format] == nil {
		return usageError("--format %q: it is one of text, markdown, html, json%s", r.format, bench.DidYouMean(r.format, []string{"text", "markdown", "html", "json"}))
	}
	r.Platforms = planning.JoinOptions(r.Platforms)
	r.As = map[string]string{}
	for _, text := range r.as {
		name, ours, ok := strings.Cut(text, "=")
		if !ok || name == "" || ours == "" {
			return usageError("--as %q: say PAPER'S=OURS, such as kvm=qemu-tcg", text)
		}
		r.As[name] = ours
	}
	if len(args) == 0 {
		for _, p := range papers.All() {
			r.Papers = append(r.Papers, reproduce.Chosen{Paper: &p})
		}
		return nil
	}
	p, err := papers.Find(args[0])
	if err != nil {
		return fmt.Errorf("%w%w", err, bench.Hint("tare reproduce lists them"))
	}
	for _, id := range args[1:] {
		if _, err := p.Exhibit(id); err != nil {
			return fmt.Errorf("%w%w", err, bench.Hint("tare reproduce "+p.ID+" lists them"))
		}
	}
	r.Papers = []reproduce.Chosen{{Paper: p, Exhibits: args[1:]}}
	return nil
}

// renderings show a document, by format.
var renderings = map[string]func(io.Writer, *claims.Document) error{
	"text": report.ReproductionText, "markdown": report.ReproductionMarkdown, "html": report.Reproduction,
	"json": func(w io.Writer, d *claims.Document) error { return report.IndentedJSON(w, d) },
}

// reproduce lists what is asked for, judges stored runs, or measures.
func (a *app) reproduce(ctx context.Context, r *reproducing, measure bool) error {
	if r.Platforms != nil {
		if err := a.known(r.Platforms); err != nil {
			return err
		}
	}
	for _, ours := range r.As {
		if err := a.known([]string{ours}); err != nil {
			return err
		}
	}
	host, err := reproduce.NewHost(ctx, a.catalog())
	if err != nil {
		return err
	}
	switch {
	case !measure:
		return a.listExhibits(host, r)
	case r.from != nil:
		status, err := a.judge(host, r, r.from, a.stdout)
		return worst(err, status)
	}
	if err := needRoot("reproduce"); err != nil {
		return err
	}
	return a.measureExhibits(ctx, host, r)
}

// measureExhibits runs the parts one after the other and judges what there is, also when it was stopped.
func (a *app) measureExhibits(ctx context.Context, host *reproduce.Host, r *reproducing) error {
	parts := host.Parts(&r.Ask)
	if r.out == "" {
		r.out = filepath.Join("results", "reproduce-"+time.Now().Format("20060102-150405"))
	}
	var total float64
	n := 0
	for _, p := range parts {
		if p.Why == "" {
			total += p.Takes()
			n++
		}
	}
	if n == 0 {
		return a.nothingHere(host, r, parts)
	}
	fmt.Fprintf(a.stderr, "%s, at most %s; results in %s\n", figure.Count(n, "experiment"), figure.Span(total), r.out)
	var dirs []string
	var failed error
	done := 0
	for _, p := range parts {
		if p.Why != "" {
			fmt.Fprintf(a.stderr, "left out: %s (%s): %s\n", p.Experiment, strings.Join(p.Exhibits, ", "), p.Why)
			continue
		}
		done++
		dir, there, err := p.Dir(r.out)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "%d of %d: %s, for %s: %s on %s, at most %s\n", done, n, p.Experiment, strings.Join(p.Exhibits, ", "), figure.Count(len(p.Cases), "scene"), strings.Join(p.Platforms, ", "), figure.Span(p.Takes()))
		err = a.measurePart(ctx, p, dir, there, r.m)
		if _, none := os.Stat(filepath.Join(dir, "run.json")); none == nil {
			dirs = append(dirs, dir)
		}
		if ctx.Err() != nil {
			failed = err
			break
		}
		if err != nil { // the others may well be measured
			a.say(fmt.Errorf("%s: %w", p.Experiment, err))
			failed = worst(failed, err)
		}
	}
	if len(dirs) == 0 {
		return failed
	}
	status, err := a.judge(host, r, dirs, a.stdout)
	if err != nil {
		return worst(failed, err)
	}
	if r.seal {
		if err := reproduce.Seal(r.out); err != nil {
			return worst(failed, err)
		}
	}
	fmt.Fprintf(a.stdout, "\npage: %s\n", filepath.Join(r.out, "report.html"))
	if ctx.Err() != nil {
		fmt.Fprintf(a.stderr, "stopped: the same command with -o %s goes on\n", r.out)
	}
	return worst(failed, status)
}

// measurePart begins the run of a part, or goes on with it.
func (a *app) measurePart(ctx context.Context, p *reproduce.Part, dir string, there bool, m manner) error {
	m.end = func(r *store.Run) error { return a.writePage(r) }
	if !there {
		return a.run(ctx, p.Request(), dir, m)
	}
	r, err := store.Open(dir)
	if err != nil {
		return err
	}
	result, err := analysis.Analyze(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if result.Complete {
		fmt.Fprintf(a.stderr, "%s is measured already\n", dir)
		return nil
	}
	return a.resume(ctx, dir, m)
}

// writePage writes a run's own page.
func (a *app) writePage(r *store.Run) error {
	result, err := analyze(r, analysis.Options{})
	if err != nil {
		return err
	}
	return r.WriteReport(func(w io.Writer) error { return report.HTML(w, result) })
}

// judge judges what is asked for by the runs in the folders and shows it. What was measured just now
// gets its page, too.
func (a *app) judge(host *reproduce.Host, r *reproducing, dirs []string, out io.Writer) (status error, err error) {
	runs, err := reproduce.Stored(dirs)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, run := range runs {
			err = errors.Join(err, run.Close())
		}
	}()
	d, others, err := host.Judge(&r.Ask, runs)
	if err != nil {
		return nil, err
	}
	for _, why := range others {
		fmt.Fprintln(a.stderr, "left out:", why)
	}
	if r.from == nil {
		for name, render := range map[string]func(io.Writer, *claims.Document) error{"report.html": renderings["html"], "claims.json": renderings["json"]} {
			if err := store.WriteIn(r.out, name, func(w io.Writer) error { return render(w, d) }); err != nil {
				return nil, err
			}
		}
	}
	if err := renderings[r.format](out, d); err != nil {
		return nil, err
	}
	for _, p := range d.Papers {
		if p.Tally.Undecided > 0 {
			status = &statusError{status: exitUndecided}
		}
	}
	return status, nil
}

// nothingHere is the error where no part can be run.
func (a *app) nothingHere(host *reproduce.Host, r *reproducing, parts []*reproduce.Part) error {
	var why []string
	for _, p := range parts {
		why = append(why, p.Experiment+": "+p.Why)
	}
	for _, c := range r.Papers {
		for _, id := range c.Exhibits {
			x, err := c.Exhibit(id)
			if err != nil {
				return err
			}
			if s := host.State(c.Paper, x); len(s.Missing) > 0 {
				why = append(why, fmt.Sprintf("%s is %s: %s", id, s.Kind, strings.Join(s.Missing, "; ")))
			} else if s.Kind == papers.Described {
				why = append(why, id+" describes a set-up: the paper measures nothing in it")
			}
		}
	}
	return fmt.Errorf("nothing of it can be measured here: %s: %w", strings.Join(why, "; "), bench.ErrUnavailable)
}

// listExhibits lists papers, or the exhibits of one.
func (a *app) listExhibits(host *reproduce.Host, r *reproducing) error {
	rows := host.List(&r.Ask)
	return a.show(r.format == "json", rows, func(out io.Writer) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		if len(r.Papers) > 1 {
			fmt.Fprintln(w, "PAPER\tEXHIBITS\tCLAIMS\tHERE\tTAKES\tTITLE")
			for _, p := range rows {
				fmt.Fprintf(w, "%s\t%s\t%d\t%d of %d\t%s\t%s\n", p.ID, p.States, p.Claims, p.Here, p.Measurable, span(p.Seconds), p.Title)
			}
			fmt.Fprintln(w)
			return w.Flush()
		}
		fmt.Fprintln(w, "EXHIBIT\tSTATE\tCLAIMS\tBY\tTAKES\tTITLE")
		for _, x := range rows[0].Exhibits {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", x.ID, x.State.Kind, x.Claims, strings.Join(x.Experiments, ", "), span(x.Seconds), x.Title)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
		for _, x := range rows[0].Exhibits {
			lacks := x.State.Missing
			if x.State.Instead != "" {
				lacks = append([]string{x.State.Instead}, lacks...)
			}
			if len(x.State.Else) > 0 {
				lacks = append(lacks, "without the paper's platforms: "+strings.Join(x.State.Else, ", "))
			}
			if x.Why != "" {
				lacks = append(lacks, "here: "+x.Why)
			}
			if len(lacks) > 0 {
				fmt.Fprintf(out, "%s: %s\n", x.ID, strings.Join(lacks, "; "))
			}
		}
		return nil
	})
}

func span(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return figure.Span(seconds)
}

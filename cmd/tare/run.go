package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/image"
	"tare/internal/ledger"
	"tare/internal/overhead"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/store"
)

// errTimeUp ends a run whose time limit, of --max-time or the specification, is over.
var errTimeUp = errors.New("the time limit is over")

func (a *app) runCommand() *cobra.Command {
	var r request
	var out string
	var m manner
	c := &cobra.Command{
		Use:   "run SPEC|NAME",
		Short: "Run an experiment and report what isolation costs",
		Long: `Runs an experiment: a YAML file, or a built-in one by name (tare list
experiments). Every trial is stored as soon as it is finished, so a run that is
stopped can be resumed.`,
		Example: `  tare run quick
  tare run quick --platforms native,docker --set blocks=10
  tare run my.yaml -o results/mine --seed 7 --max-time 1h`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r.name, r.seeded = args[0], c.Flags().Changed("seed")
			if err := m.check(); err != nil {
				return err
			}
			return a.run(c.Context(), &r, out, m)
		},
	}
	r.flags(c)
	c.Flags().StringVarP(&out, "output", "o", "", "directory of the results (default results/ID)")
	m.flags(c)
	return c
}

// manner is how a run is carried out, whether begun or resumed.
type manner struct {
	maxTime time.Duration
	asJSON  bool
	verbose bool
	// allowUnfair shows ratios that the audit found invalid.
	allowUnfair bool
	// end is what a run ends with, finished or stopped; nil for the report.
	end func(*store.Run) error
	// beside starts what is to run beside a trial; nil for nothing. See run.Runner.
	beside func(*session, context.Context, *bench.Scene) ([]bench.Process, func(), error)
	// again goes on with a stopped run; empty for tare resume.
	again string
}

func (m *manner) flags(c *cobra.Command) {
	c.Flags().DurationVar(&m.maxTime, "max-time", 0, "stop after this time; tare resume goes on later")
	c.Flags().BoolVar(&m.asJSON, "json", false, "print the result as JSON")
	c.Flags().BoolVarP(&m.verbose, "verbose", "v", false, "print a line for each phase of each trial")
	allowUnfairFlag(c, &m.allowUnfair)
}

func (m *manner) check() error {
	if m.maxTime < 0 {
		return usageError("--max-time %v is negative", m.maxTime)
	}
	return nil
}

// loadSample is how long the host is watched for other work before a run.
const loadSample = 200 * time.Millisecond

// run plans and carries out an experiment and reports it.
func (a *app) run(ctx context.Context, r *request, out string, m manner) error {
	if err := needRoot("run"); err != nil {
		return err
	}
	id := newID(time.Now())
	if out == "" {
		out = filepath.Join("results", id)
	}
	// A bad specification is found before anything is built or asked for.
	if _, err := a.plan(ctx, r, nil); errors.Is(err, bench.ErrInvalid) {
		return err
	}
	release, err := a.claim(ctx)
	if err != nil {
		return err
	}
	defer release()
	led, err := ledger.Open(a.state, id)
	if err != nil {
		return err
	}
	img, err := a.images(led).Build(ctx)
	if err != nil {
		return err
	}
	defer img.Close()
	p, err := a.plan(ctx, r, func(e *spec.Experiment) error {
		if err := a.buildHosts(ctx, led, e.Nested()); err != nil {
			return err
		}
		return a.probe(ctx, id, img, led)
	})
	if err != nil {
		return err
	}
	if err := r.insist(p.Skipped); err != nil {
		return err
	}
	if err := checkFiles(p.Plan, p.facts.LLC); err != nil {
		return err
	}
	if l, err := host.ReadLoad(ctx, "/", loadSample); err == nil && l.Caveat() != "" {
		p.Warnings = append(p.Warnings, "when the run began, "+l.Caveat())
	}
	run, err := store.Create(out, a.header(id, r, p, img), p.spec, p.Plan, p.facts)
	if err != nil {
		return err
	}
	defer run.Close()
	fmt.Fprintf(a.stderr, "run %s: %s; results in %s\n", id, extent(p.Plan), out)
	for _, s := range p.Skipped {
		fmt.Fprintf(a.stderr, "left out: %s: %s\n", s.Platform, strings.TrimPrefix(s.Reason, s.Platform+": "))
		if s.Hint != "" {
			fmt.Fprintf(a.stderr, "  hint: %s\n", s.Hint)
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.stderr, "! %s\n", w)
	}
	m.maxTime = cmp.Or(m.maxTime, p.limit)
	return a.carryOut(ctx, run, p.found, img, led, nil, m)
}

// buildHosts builds the images that outer guests of the nested platforms boot
// from, unless they are there.
func (a *app) buildHosts(ctx context.Context, led *ledger.Ledger, nested []string) error {
	isXen := func(name string) bool { return strings.HasPrefix(name, "xen-") }
	notXen := func(name string) bool { return !isXen(name) }
	for _, s := range []struct {
		store  *image.Store
		serves func(string) bool
	}{{a.hosts(led), notXen}, {a.xenHosts(led), isXen}} {
		if !slices.ContainsFunc(nested, s.serves) {
			continue
		}
		img, err := s.store.Build(ctx)
		if err != nil {
			return err
		}
		if err := img.Close(); err != nil {
			return err
		}
	}
	return nil
}

// extent says how much there is to run, or may be.
func extent(p *bench.Plan) string {
	took := func(s float64) time.Duration { return round(time.Duration(s * float64(time.Second))) }
	if u := p.Until; u != nil {
		return fmt.Sprintf("at most %d trials in %d to %d blocks, until intervals are within ±%g%%, seed %d, about %s to %s",
			len(p.Trials), u.Min, u.Max, 100*u.Interval, p.Seed, took(plan.LeastEstimate(p)), took(p.Estimate))
	}
	return fmt.Sprintf("%d trials in %d blocks, seed %d, about %s", len(p.Trials), p.Blocks, p.Seed, took(p.Estimate))
}

// carryOut measures what is not finished and reports, also when the run was
// stopped before its end.
func (a *app) carryOut(ctx context.Context, r *store.Run, found []checked, img *image.Image, led *ledger.Ledger,
	finished map[string]bool, m manner) error {
	if m.maxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.maxTime, errTimeUp)
		defer cancel()
	}
	goOn := bench.Hint(cmp.Or(m.again, "tare resume "+r.Dir()))
	s, err := a.openSession(ctx, r.Header().Run, r.Plan(), found, img, led)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped before the first trial: %w%w: %w", context.Cause(ctx), goOn, err)
	}
	if err != nil {
		return err
	}
	err = a.measure(ctx, s, r, finished, m)
	cerr := s.close()
	if err != nil && ctx.Err() == nil {
		return errors.Join(err, cerr)
	}
	if err != nil {
		err = fmt.Errorf("%w%w", err, goOn)
	}
	if m.end != nil {
		return errors.Join(err, cerr, m.end(r))
	}
	if rerr := a.publish(r, m); rerr != nil || err != nil {
		return errors.Join(err, cerr, rerr)
	}
	return errors.Join(cerr, a.verdict(r, m))
}

// finish ends a run every trial of which has an outcome.
func (a *app) finish(r *store.Run, m manner) error {
	if m.end != nil {
		return m.end(r)
	}
	if err := a.publish(r, m); err != nil {
		return err
	}
	return a.verdict(r, m)
}

// publish writes report.html and prints the table.
func (a *app) publish(r *store.Run, m manner) error {
	result, err := overhead.AnalyzeWith(r, overhead.Options{AllowUnfair: m.allowUnfair})
	if err != nil {
		return err
	}
	a.cite(result, r)
	path := filepath.Join(r.Dir(), "report.html")
	if err := writeReport(path, result); err != nil {
		return err
	}
	if m.asJSON {
		return writeJSON(a.stdout, result)
	}
	if err := renderText(a.stdout, result); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	if result.SelfTest == nil {
		fmt.Fprintln(a.stdout, "no self-test on this host: run tare selftest")
	}
	_, err = fmt.Fprintf(a.stdout, "report: %s\n", path)
	return err
}

// verdict is the exit status a finished run deserves.
func (a *app) verdict(r *store.Run, m manner) error {
	result, err := overhead.AnalyzeWith(r, overhead.Options{AllowUnfair: m.allowUnfair})
	if err != nil {
		return err
	}
	if n := result.Trials.Failed; n > 0 {
		return &statusError{exitHost, fmt.Errorf("%d of %d trials failed: see the report", n, result.Trials.Planned)}
	}
	if err := unfairStatus(result); err != nil {
		return err
	}
	if n := undecided(result); n > 0 {
		more := fmt.Sprintf("--set blocks=%d", max(10, 3*result.Blocks))
		if u := result.Until; u != nil {
			more = fmt.Sprintf("--set until.interval=%.2g%%, --set until.max=%d", 50*u.Interval, min(1000, 3*u.Max))
		}
		fmt.Fprintf(a.stderr, "%d effects are undecided: more blocks or a quieter host may decide them (%s)\n", n, more)
		return &statusError{status: exitUndecided}
	}
	return nil
}

// undecided counts the headline effects the results do not decide. Of cases
// that are set against others on the same platform these are the ones asked for.
func undecided(r *overhead.Result) int {
	n := 0
	within := r.Relative.Cases()
	if r.Relative != nil {
		for _, row := range r.Relative.Rows {
			for _, cell := range row.Cells {
				if cell != nil && row.Metric.Headline && cell.DNF == 0 &&
					(cell.Effect.Verdict == overhead.Inconclusive || cell.Effect.Verdict == overhead.Refused) {
					n++
				}
			}
		}
	}
	for _, c := range r.Cases {
		if within[c.Name] {
			continue
		}
		for _, row := range c.Rows {
			if row.Metric.Headline && row.Effect != nil && row.DNF == 0 &&
				(row.Effect.Verdict == overhead.Inconclusive || row.Effect.Verdict == overhead.Refused) {
				n++
			}
		}
	}
	return n
}

func (a *app) header(id string, r *request, p *planned, img *image.Image) store.Header {
	h := store.Header{
		Run: id, Tare: version, Agent: version, Image: img.Digest(), Programs: img.Manifest().Programs,
		Platforms: map[string]store.Platform{}, Started: time.Now().UTC().Format(time.RFC3339),
		Command: append([]string{"tare"}, os.Args[1:]...), Spec: r.name, Set: r.overrides(),
	}
	for _, c := range p.found {
		if c.err == nil {
			h.Platforms[c.Name()] = store.Platform{Version: c.Version, Label: c.Label, Programs: c.Availability.Programs}
		}
	}
	h.ObserverCPUs = plan.Observer(p.facts.Usable)
	return h
}

// newID names a run: its day and time and four letters, so that two runs of one
// second on one host differ.
func newID(now time.Time) string {
	return now.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:4])
}

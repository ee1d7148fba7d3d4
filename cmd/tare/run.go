package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/host"
	"tare/internal/image"
	"tare/internal/kept"
	"tare/internal/ledger"
	"tare/internal/plan"
	"tare/internal/platform/all"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/spec"
	"tare/internal/store"
)

// errTimeUp ends a run whose time limit, of --max-time or the specification, is over.
var errTimeUp = errors.New("the time limit is over")

func (a *app) runCommand() *cobra.Command {
	var r request
	var out string
	var m manner
	var meters []string
	c := &cobra.Command{
		Use:   "run SPEC|NAME",
		Short: "Run an experiment and report what isolation costs",
		Long: `Runs an experiment: a YAML file, or a built-in one by name (tare list
experiments). Every trial is stored as soon as it is finished, so a run that is
stopped, by Ctrl-C or --max-time, can be resumed.

With --from DIR it is the experiment of the run in DIR, with its --set values,
planned anew for this host; of the rest of DIR nothing is obeyed, and power meters
are read only if --power names them. Unless that run began on this host, its own
programs and the files of this host that it would copy are told and refused: once
you have read them, --trust takes them.

Exit status: 0 every headline effect is decided; 2 not all of them, or the run was
stopped; 3 the specification is invalid or a comparison unfair; 4 a trial failed.`,
		Example: `  tare run quick
  tare run quick --platforms native,docker --set blocks=10
  tare run my.yaml -o results/mine --seed 7 --max-time 1h
  tare run energy --power 'snmp://pdu/raritan?outlet=3'
  tare run --from results/20260102-030405-abcd`,
		Args: r.args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.take(a, c, args); err != nil {
				return err
			}
			if err := m.check(); err != nil {
				return err
			}
			r.meters = meters
			if err := r.check(a, c); err != nil {
				return err
			}
			return a.run(c.Context(), &r, out, m)
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&r.trust, "trust", false, "with --from: run the programs, and copy the files of this host, that its specification names")
	c.Flags().StringVarP(&out, "output", "o", "", "directory of the results (default results/ID)")
	c.Flags().BoolVar(&m.keepTrying, "keep-trying", false, "give up no platform, though its launches fail twice in the same way")
	c.Flags().StringArrayVar(&meters, "power", nil, "read this power meter, such as rapl: or 'snmp://pdu/raritan?outlet=3' (repeatable; tare list meters)")
	m.flags(c)
	return c
}

// manner is how a run is carried out, whether begun or resumed.
type manner struct {
	maxTime time.Duration
	asJSON  bool
	verbose bool
	// wait until no other run measures on the host, rather than fail.
	wait bool
	// allowUnfair shows ratios that the audit found invalid.
	allowUnfair bool
	// keepTrying a platform whose launches fail; a resumed run does as its plan says.
	keepTrying bool
	// end is what a run ends with, finished or stopped; nil for the report.
	end func(*store.Run) error
	// beside starts what is to run beside a trial; nil for nothing. See run.Runner.
	beside func(*session, context.Context, *bench.Scene) ([]bench.Process, func(), error)
	// power are the meters that are read.
	power powerMeters
	// allowMixed lets a run go on where not all is as when it began; mixed is what is not.
	allowMixed bool
	mixed      []string
}

func (m *manner) flags(c *cobra.Command) {
	c.Flags().DurationVar(&m.maxTime, "max-time", 0, "stop after this time; tare resume goes on later")
	c.Flags().BoolVar(&m.asJSON, "json", false, "print the result as JSON")
	c.Flags().BoolVarP(&m.verbose, "verbose", "v", false, "print a line for each phase of each trial")
	waitFlag(c, &m.wait)
	allowUnfairFlag(c, &m.allowUnfair)
}

func waitFlag(c *cobra.Command, wait *bool) {
	c.Flags().BoolVar(wait, "wait", false, "if another run is measuring on this host, wait until it has ended")
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
	before, err := a.plan(ctx, r, nil)
	if err == nil {
		err = r.vet(before.Plan)
	}
	if err == nil {
		err = checkFiles(before.Plan, before.facts.LLC)
	}
	if errors.Is(err, bench.ErrInvalid) {
		return err
	}
	meters, err := openPower(ctx, r.meters)
	if err != nil {
		return err
	}
	defer meters.close()
	m.power = meters
	if err := a.checkCertificate(m); err != nil {
		return err
	}
	if err := store.Check(out); err != nil { // rather than after minutes of building
		return err
	}
	release, err := a.claim(ctx, id, m.wait)
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
		return a.probe(ctx, id, e, img, led)
	})
	if err != nil {
		return err
	}
	if err := r.vet(p.Plan); err != nil {
		return err
	}
	if err := r.insist(a.vocabulary(), p.Skipped); err != nil {
		return err
	}
	if l, err := host.ReadLoad(ctx, "/", loadSample); err == nil && l.Caveat() != "" {
		p.Warnings = append(p.Warnings, "when the run began, "+l.Caveat())
	}
	p.Plan.KeepTrying = m.keepTrying
	h := a.header(id, r, p, img)
	h.Power = meters.sources()
	run, err := store.Create(out, h, p.spec, p.Plan, p.facts)
	if err != nil {
		return err
	}
	defer run.Close()
	if err := a.begin(run); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "run %s: %s; results in %s\n", id, extent(p.Plan), out)
	for _, s := range bench.Together(p.Skipped) {
		fmt.Fprintf(a.stderr, "left out: %s: %s\n", s.Platform, s.Reason)
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

// begin remembers the run as one that may be resumed here.
func (a *app) begin(r *store.Run) error {
	digest, err := r.Digest()
	if err != nil {
		return err
	}
	return kept.Begin(a.state, r.Header().Run, digest)
}

// buildHosts builds the images that outer guests of the nested platforms boot
// from, unless they are there.
func (a *app) buildHosts(ctx context.Context, led *ledger.Ledger, nested []string) error {
	var hosts, xenHosts bool
	for _, name := range nested {
		h, x := all.Images(name)
		hosts, xenHosts = hosts || h, xenHosts || x
	}
	for _, s := range []struct {
		store  *image.Store
		needed bool
	}{{a.hosts(led), hosts}, {a.xenHosts(led), xenHosts}} {
		if !s.needed {
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
	return fmt.Sprintf("%s in %s, seed %d, about %s", figure.Count(len(p.Trials), "trial"), figure.Count(p.Blocks, "block"), p.Seed, took(p.Estimate))
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
	goOn := bench.Hint("tare resume " + r.Dir())
	s, err := a.openSession(ctx, r.Header().Run, r.Plan(), found, img, led)
	if err != nil && ctx.Err() != nil {
		return &statusError{exitUndecided, fmt.Errorf("stopped before the first trial: %w%w: %w", context.Cause(ctx), goOn, err)}
	}
	if err != nil {
		return err
	}
	err = a.measure(ctx, s, r, finished, m)
	cerr := s.close()
	switch {
	case err == nil:
		return worst(cerr, a.finish(r, m))
	case ctx.Err() == nil:
		return worst(err, cerr)
	}
	stopped := &statusError{exitUndecided, fmt.Errorf("%w%w", err, goOn)}
	if m.end == nil {
		result, err := a.publish(r, m)
		if err == nil {
			stopped.status = max(stopped.status, statusOf(a.resultStatus(r.Dir(), result)))
		}
		return worst(stopped, cerr, err)
	}
	ended := m.end(r)
	if context.Cause(ctx) == errTimeUp { // what was found until then decides
		a.say(stopped)
		return worst(cerr, ended)
	}
	return worst(stopped, cerr, ended)
}

// finish ends a run every trial of which has an outcome.
func (a *app) finish(r *store.Run, m manner) error {
	if m.end != nil {
		return m.end(r)
	}
	result, err := a.publish(r, m)
	if err != nil {
		return err
	}
	return a.resultStatus(r.Dir(), result)
}

// publish writes report.html and prints the table.
func (a *app) publish(r *store.Run, m manner) (*result.Result, error) {
	result, err := analyze(r, m.allowUnfair)
	if err != nil {
		return nil, err
	}
	a.cite(result, r)
	if err := r.WriteReport(func(w io.Writer) error { return report.HTML(w, result) }); err != nil {
		return nil, err
	}
	if m.asJSON {
		return result, writeJSON(a.stdout, result)
	}
	if err := renderText(a.stdout, result); err != nil {
		return nil, err
	}
	fmt.Fprintln(a.stdout)
	if result.SelfTest == nil {
		fmt.Fprintln(a.stdout, "no self-test on this host: run tare selftest")
	}
	_, err = fmt.Fprintf(a.stdout, "report: %s\n", filepath.Join(r.Dir(), "report.html"))
	return result, err
}

func (a *app) header(id string, r *request, p *planned, img *image.Image) store.Header {
	h := store.Header{
		Run: id, Tare: version, Agent: version, Image: img.Digest(), Programs: img.Manifest().Programs,
		Platforms: map[string]store.Platform{}, Started: time.Now().UTC().Format(time.RFC3339),
		Command: a.asked(), Spec: r.name, Set: r.overrides(),
	}
	for _, c := range p.found {
		if c.err == nil {
			h.Platforms[c.Name()] = store.Platform{Version: c.Version, Label: c.Label, Programs: c.Availability.Programs}
		}
	}
	h.ObserverCPUs = plan.Observer(p.facts.Usable)
	return h
}

// asked is the command that repeats what is under way.
func (a *app) asked() []string {
	if a.repeat != nil {
		return a.repeat
	}
	return append([]string{"tare"}, os.Args[1:]...)
}

// newID names a run: its day and time and four letters, so that two runs of one
// second on one host differ.
func newID(now time.Time) string {
	return now.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:4])
}

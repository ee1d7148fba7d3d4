// Package session carries out runs on this host: begins them, goes on with them, and
// holds meanwhile what they need.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/analysis/stop"
	"tare/internal/app/planning"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/host"
	"tare/internal/host/ssh"
	"tare/internal/image"
	"tare/internal/image/own"
	"tare/internal/plan"
	"tare/internal/platform/all"
	"tare/internal/result/store"
	"tare/internal/run"
	"tare/internal/selftest"
	"tare/internal/spec"
	"tare/internal/state/ledger"
)

// Runs begins runs and goes on with them. Its fields say how.
type Runs struct {
	Site     *site.Site
	Version  string // of this program
	Watchdog string // the command of this program that calls containment.Watchdog

	ID         string        // of the run that is begun; "" for a new one
	MaxTime    time.Duration // 0: as long as the specification says
	Wait       bool          // until no other run measures on the host, rather than fail
	QuietWait  time.Duration // before each block, at most, for other work on the host to end
	KeepTrying bool          // a platform whose launches fail; a resumed run does as its plan says
	More       plan.More     // that a resumed run is given
	AllowMixed bool          // go on where not all is as when the run began
	SelfTest   bool          // the run's finding belongs into the certificate

	// Accepted is called once nothing is wrong with what is asked for, before the run is made; nil for nothing.
	Accepted func() error

	Beside Beside // nil for nothing
	// Watch returns what is told the events of a run, so many of whose trials are
	// finished already after so much time, and what is called when there are no more.
	Watch func(p *bench.Plan, finished int, spent time.Duration) (notify func(run.Event), end func())
	// Conclude ends a run that was measured, and while nobody else measures.
	Conclude func(*store.Run, Ending) error
}

// Beside starts what is to run beside a trial. See run.Runner.
type Beside func(context.Context, *Session, *bench.Scene) (processes []bench.Process, stop func(), err error)

// Ending is how measuring ended.
type Ending struct {
	Failed   error    // nil if it came to the end of the plan, or was stopped
	Stopped  *Stopped // nil if it was not
	Unclosed error    // what of the session could not be taken back
}

// Stopped is that a run was stopped before its end.
type Stopped struct {
	error
	TimeUp bool // by its time limit
}

// Stop is that a run was stopped because of err, and not by its time limit.
func Stop(err error) *Stopped { return &Stopped{error: err} }

// Unwrap returns why.
func (s *Stopped) Unwrap() error { return s.error }

// loadSample is how long the host is watched for other work before a run.
const loadSample = 200 * time.Millisecond

// Begin plans an experiment and carries it out. The results are in out, a folder
// named for the run if it is empty. Command is what repeats the run.
func (rs *Runs) Begin(ctx context.Context, r *planning.Request, out string, command []string) error {
	id := cmp.Or(rs.ID, NewID(time.Now()))
	if out == "" {
		out = filepath.Join("results", id)
	}
	// A bad specification is found before anything is built or asked for.
	c := planning.Catalog{Dir: rs.Site.Dir}
	before, err := c.Plan(ctx, r, nil)
	if err == nil {
		err = before.Vet()
	}
	if err == nil {
		err = before.CheckFiles()
	}
	if err == nil {
		err = before.CheckPrograms()
	}
	if errors.Is(err, bench.ErrInvalid) {
		return err
	}
	if err := store.Check(out); err != nil { // rather than after minutes of building
		return err
	}
	meters, release, err := rs.claim(ctx, id, r.Meters)
	if err != nil {
		return err
	}
	defer release()
	var needs bench.ImageNeeds
	if before != nil {
		needs = before.Image
	}
	if before != nil {
		for _, h := range before.Hosts {
			if err := ssh.Try(ctx, h); err != nil { // rather than after minutes of building
				return err
			}
		}
	}
	led, golden, err := rs.golden(ctx, id, needs)
	if err != nil {
		return err
	}
	defer golden.Close()
	img, err := rs.own(ctx, led, golden, needs.Own, r.Own())
	if err != nil {
		return err
	}
	defer img.Close()
	if err := r.Close(); err != nil { // what an engine saved takes room on the disk
		return err
	}
	p, err := c.Plan(ctx, r, func(e *spec.Experiment) error {
		if err := rs.buildHosts(ctx, led, e.Nested()); err != nil {
			return err
		}
		return probe(ctx, rs.Site, e, bench.Env{Run: id, Image: img, Ledger: led})
	})
	if err != nil {
		return err
	}
	if err := p.Vet(); err != nil {
		return err
	}
	if err := p.Insist(); err != nil {
		return err
	}
	if err := p.CheckPrograms(); err != nil { // before, the image may not have been there
		return err
	}
	files, err := p.Chosen(ctx)
	if err != nil {
		return err
	}
	if l, err := host.ReadLoad(ctx, "/", loadSample); err == nil && l.Caveat() != "" {
		p.Warnings = append(p.Warnings, "when the run began, "+l.Caveat())
	}
	if rs.Accepted != nil {
		if err := rs.Accepted(); err != nil {
			return err
		}
	}
	p.Plan.KeepTrying = rs.KeepTrying
	h := store.Header{
		Run: id, Tare: rs.Version, Agent: rs.Version, Image: img.Digest(), Programs: img.Manifest().Programs,
		ImageMade: img.Manifest().Created.Format(time.RFC3339),
		Platforms: map[string]store.Platform{}, Started: time.Now().UTC().Format(time.RFC3339),
		Command: command, Spec: r.Name, Set: r.Overrides(), ObserverCPUs: plan.Observer(p.Facts.Usable), Power: meters.sources(), Chosen: files,
	}
	for _, c := range p.Found {
		if c.Err != nil {
			continue
		}
		found := store.Platform{Version: c.Version, Label: c.Label, Programs: c.Availability.Programs}
		if found.Files, err = fingerprint(programsOf(c, p.Plan)); err != nil {
			return err
		}
		h.Platforms[c.Name()] = found
	}
	run, err := store.Create(out, h, p.Spec, p.Plan, p.Facts)
	if err != nil {
		return err
	}
	defer run.Close()
	if err := rs.Site.Begin(run); err != nil {
		return err
	}
	rs.say("run %s: %s; results in %s", id, extent(p.Plan), out)
	for _, s := range bench.Together(p.Skipped) {
		rs.say("left out: %s: %s", s.Platform, s.Reason)
		if s.Hint != "" {
			rs.say("  hint: %s", s.Hint)
		}
	}
	for _, w := range p.Warnings {
		rs.say("! %s", w)
	}
	a := attempt{Runs: rs, run: run, found: p.Found, image: img, golden: golden, ledger: led, power: meters, limit: cmp.Or(rs.MaxTime, p.Limit)}
	return a.carryOut(ctx)
}

func (rs *Runs) say(format string, args ...any) {
	fmt.Fprintf(rs.Site.Notes, format+"\n", args...)
}

// claim opens the meters and claims the host for a run, until it is released.
func (rs *Runs) claim(ctx context.Context, id string, names []string) (powerMeters, func(), error) {
	meters, err := openPower(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	err = rs.checkCertificate()
	var free func()
	if err == nil {
		free, err = rs.Site.Claim(ctx, id, rs.Wait)
	}
	if err != nil {
		meters.close()
		return nil, nil, err
	}
	return meters, func() { free(); meters.close() }, nil
}

// checkCertificate is an error if the certificate of the self-test cannot be read and the
// run's finding belongs there; for any other run it is said.
func (rs *Runs) checkCertificate() error {
	_, err := selftest.Read(rs.Site.CertificateDir())
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w%w", err, bench.Hint("put it right or remove it: tare selftest writes it anew"))
	if rs.SelfTest {
		return err
	}
	rs.say("! %v; %s", err, bench.HintOf(err))
	return nil
}

// buildHosts builds the images that outer guests of the nestings boot from, unless
// they are there.
func (rs *Runs) buildHosts(ctx context.Context, led bench.Ledger, nestings []string) error {
	var hosts, xenHosts bool
	for _, name := range nestings {
		h, x := all.Images(name)
		hosts, xenHosts = hosts || h, xenHosts || x
	}
	for _, kind := range []struct {
		of     func(string) *image.Store
		needed bool
	}{{image.New, hosts || xenHosts}, {image.NewHosts, hosts}, {image.NewXenHosts, xenHosts}} { // the first has their kernel
		if !kind.needed {
			continue
		}
		img, err := rs.Site.Images(kind.of, led).Build(ctx)
		if err != nil {
			return err
		}
		if err := img.Close(); err != nil {
			return err
		}
	}
	return nil
}

// own returns the image that the instances run: the user's, taken from where it is unless it is there,
// or golden.
func (rs *Runs) own(ctx context.Context, led bench.Ledger, golden *image.Image, o *bench.OwnImage, from *own.Source) (*image.Image, error) {
	if o == nil {
		return golden, nil
	}
	base, err := rs.Site.Images(image.New, led).Build(ctx) // has the guests' kernel
	if err != nil {
		return nil, err
	}
	if err := base.Close(); err != nil {
		return nil, err
	}
	store := rs.Site.Images(image.New, led)
	store.Recipe, store.Source, store.From = image.Own(o.ID), from, o.From
	return store.Build(ctx)
}

// golden returns the golden image with what a run needs beyond it, built unless it is there, and the
// run's ledger.
func (rs *Runs) golden(ctx context.Context, id string, needs bench.ImageNeeds) (*ledger.Ledger, *image.Image, error) {
	led, err := ledger.Open(rs.Site.Dir, id)
	if err != nil {
		return nil, nil, err
	}
	recipe, err := image.With(needs)
	if err != nil {
		return nil, nil, err
	}
	store := rs.Site.Images(image.New, led)
	store.Recipe = recipe
	img, err := store.Build(ctx)
	return led, img, err
}

// Began returns the header of the run in a folder, if it began here and is as it was then.
func (rs *Runs) Began(dir string) (store.Header, error) {
	r, err := store.Open(dir)
	if err != nil {
		return store.Header{}, fmt.Errorf("resume: %w", err)
	}
	err = rs.Site.Make() // what it remembers is believed, so it is nobody else's
	if err == nil {
		err = rs.Site.CheckBegun(r)
	}
	return r.Header(), errors.Join(err, r.Close())
}

// Resume carries out what of the run in a folder has no outcome.
func (rs *Runs) Resume(ctx context.Context, dir string) error {
	r, finished, err := store.OpenForResume(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := rs.Site.CheckBegun(r); err != nil { // it may have been exchanged
		return err
	}
	h := r.Header()
	if err := rs.extend(r, finished); err != nil {
		return err
	}
	open, err := stop.Left(r.Plan(), r.Outcomes)
	if err != nil {
		return err
	}
	if open == 0 {
		rs.say("every trial that is needed has an outcome already")
		return rs.Conclude(r, Ending{})
	}
	var names []string
	for _, s := range h.Power {
		names = append(names, s.Name)
	}
	meters, release, err := rs.claim(ctx, h.Run, names)
	if err != nil {
		return err
	}
	defer release()
	mixed, err := rs.otherwise(r)
	if err != nil {
		return err
	}
	for _, d := range mixed {
		rs.say("! trials are mixed: %s", d)
	}
	led, golden, err := rs.golden(ctx, h.Run, r.Plan().Image)
	if err != nil {
		return err
	}
	defer golden.Close()
	img, err := rs.own(ctx, led, golden, r.Plan().Image.Own, nil)
	if err != nil {
		return err
	}
	defer img.Close()
	const another = bench.Hint("; start a new run")
	if img.Digest() != h.Image {
		return fmt.Errorf("the run used image %s, this program has %s: %w%w", h.Image, img.Digest(), bench.ErrInvalid,
			"trials on different images must not be mixed"+another)
	}
	found := planning.Catalog{Dir: rs.Site.Dir}.CheckChoosing(ctx, planning.Patience, func(driver string) bool {
		return len(planning.ProgramsOf(r.Plan(), driver)) > 0
	})
	for _, p := range found {
		if was, ok := h.Platforms[p.Name()]; ok && p.Err == nil && was.Version != p.Version {
			return fmt.Errorf("the run used %s %s, this host has %s now: %w%w", p.Name(), was.Version, p.Version, bench.ErrInvalid,
				"trials of different versions must not be mixed"+another)
		}
		if err := exchanged(h.Platforms[p.Name()].Files); p.Err == nil && err != nil {
			return fmt.Errorf("%s: %w%w", p.Name(), err, "trials of different versions must not be mixed"+another)
		}
	}
	if err := planning.CheckChosen(h.Chosen); err != nil {
		return err
	}
	rs.say("run %s: %s", h.Run, progressOf(r.Plan(), finishedTrials(r.Plan(), finished), open))
	a := attempt{Runs: rs, run: r, found: found, image: img, golden: golden, ledger: led, power: meters, limit: rs.MaxTime, finished: finished, mixed: mixed}
	return a.carryOut(ctx)
}

// extend gives the run what more it is to have.
func (rs *Runs) extend(r *store.Run, finished map[string]bool) error {
	m := rs.More
	if m.Blocks == 0 && m.Budget == 0 {
		return nil
	}
	var err error
	if m.Spent, err = stop.Spent(r.Plan(), r.Outcomes()); err != nil {
		return err
	}
	m.Finished = finishedTrials(r.Plan(), finished)
	p, err := plan.Extend(r.Plan(), m)
	if err != nil {
		return err
	}
	if m.Budget > 0 {
		if err := rs.suffices(p, r); err != nil {
			return err
		}
	}
	return rs.Site.Extend(r, p)
}

// suffices is an error if the budget that a run is given is less than what comes next takes. It says
// so where that is run nevertheless.
func (rs *Runs) suffices(p *bench.Plan, r *store.Run) error {
	ahead, err := stop.AheadOf(p, r.Outcomes())
	if err != nil {
		return err
	}
	given := figure.Span(rs.More.Budget.Seconds())
	switch {
	case ahead.Owed > rs.More.Budget:
		rs.say("! about %s are needed for the first %s, more than the %s that the run is given: they are run nevertheless",
			figure.Span(ahead.Owed.Seconds()), figure.Count(p.Until.Min, "block"), given)
	case ahead.Owed == 0 && ahead.Next > rs.More.Budget:
		need := figure.Span(ahead.Next.Seconds())
		return fmt.Errorf("--budget: %s are too little: the next trials take about %s, so none would be run: %w%w", given, need, bench.ErrInvalid,
			bench.Hint("give it several times that; the folder is as it was"))
	}
	return nil
}

// otherwise says what of host and program is not as it was when the run began. That is
// an error unless trials may be mixed.
func (rs *Runs) otherwise(r *store.Run) ([]string, error) {
	now, err := host.Read("/", rs.Site.Dir)
	if err != nil {
		return nil, err
	}
	changed := r.Host().Changed(now)
	if was := r.Header().Tare; was != rs.Version {
		changed = append(changed, fmt.Sprintf("tare: %s when the run began, %s now", was, rs.Version))
	}
	if len(changed) == 0 || rs.AllowMixed {
		return changed, nil
	}
	hint := bench.Hint("put it back as it was, or begin anew: tare run --from " + r.Dir() + "; or mix them with --allow-mixed, and every report says so")
	if rs.SelfTest {
		hint = "the certificate speaks for one host and one version: begin the part anew, in another folder"
	}
	return nil, fmt.Errorf("not all is as it was when the run began: %s: %w%w", strings.Join(changed, "; "), bench.ErrInvalid, hint)
}

// progressOf says how many trials are finished, and of how many where that is known: a budget
// mostly ends a run long before the last that is planned.
func progressOf(p *bench.Plan, finished, open int) string {
	switch {
	case plan.Allowed(p) < p.Blocks:
		return figure.Count(finished, "trial") + " finished so far"
	case p.Until != nil:
		return fmt.Sprintf("%d of at most %d trials are finished", finished, finished+open)
	}
	return fmt.Sprintf("%d of %d trials are finished", finished, finished+open)
}

// extent says how much there is to run, or may be.
func extent(p *bench.Plan) string {
	trials, blocks, took := plan.Extent(p)
	until := ""
	if u := p.Until; u != nil {
		until = fmt.Sprintf("until intervals decide or are within ±%g%%, ", 100*u.Interval)
	}
	return fmt.Sprintf("%s in %s, %sseed %d, %s", trials, blocks, until, p.Seed, took)
}

// NewID names a run: its day and time and four letters, so that two runs of one
// second on one host differ.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:4])
}

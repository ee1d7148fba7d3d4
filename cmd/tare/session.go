package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/image"
	"tare/internal/lab"
	"tare/internal/ledger"
	"tare/internal/outercage"
	"tare/internal/run"
	"tare/internal/statedir"
	"tare/internal/stop"
	"tare/internal/store"
	"tare/internal/tool"
	"tare/internal/workload"
)

// session is what one run holds on the host: its ledger, image, lab and open
// engines. Closing it leaves nothing behind.
type session struct {
	id      string
	dir     string // the run's directory on the disk under test
	agent   string // the agent's program
	ledger  *ledger.Ledger
	image   *image.Image
	lab     *lab.Lab
	engines map[string]run.Engine
	// remove removes directories of the run, as [ledger.Cleaner.RemoveDirs] does.
	remove func(ctx context.Context, dirs ...string) error
}

// openSession makes ready everything the plan's platforms need.
func (a *app) openSession(ctx context.Context, id string, p *bench.Plan, found []checked, img *image.Image, led *ledger.Ledger) (s *session, err error) {
	s = &session{id: id, ledger: led, image: img, engines: map[string]run.Engine{}, remove: a.cleaner().RemoveDirs}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.agent, err = agentPath(); err != nil {
		return s, err
	}
	dir := filepath.Join(a.state, "runs", id)
	if err := led.Register(bench.KindDir, dir); err != nil {
		return s, err
	}
	if err := os.MkdirAll(dir, statedir.Mode); err != nil {
		return s, fmt.Errorf("make the run's directory: %w", err)
	}
	s.dir = dir
	if s.lab, err = lab.New(ctx, id, led); err != nil {
		return s, err
	}
	env := bench.Env{Run: id, Image: img, Lab: s.lab, Ledger: led, AgentPath: s.agent}
	for _, name := range platformsOf(p) {
		i := slices.IndexFunc(found, func(c checked) bool { return c.Name() == name })
		if i < 0 {
			return s, fmt.Errorf("platform %q is not known: %w", name, bench.ErrInvalid)
		}
		c := found[i]
		if c.err != nil {
			return s, fmt.Errorf("platform %s: %w", name, c.err)
		}
		env.Dir = filepath.Join(dir, name)
		if err := os.MkdirAll(env.Dir, statedir.Mode); err != nil {
			return s, fmt.Errorf("make the directory of %s: %w", name, err)
		}
		fmt.Fprintf(a.stderr, "opening %s %s\n", name, c.Version)
		e, err := c.Open(ctx, env)
		if err != nil {
			err = fmt.Errorf("open platform %s: %w", name, err)
		}
		if err != nil && (ctx.Err() != nil || name == baselineOf(p)) {
			return s, err
		}
		if err != nil {
			fmt.Fprintf(a.stderr, "! %v; its trials will fail\n", err)
			if h := bench.HintOf(err); h != "" {
				fmt.Fprintf(a.stderr, "  hint: %s\n", h)
			}
			e = unopened{err}
		}
		s.engines[name] = run.Engine{Engine: e, Availability: c.Availability, Options: c.Options()}
	}
	if err := s.lab.Settle(ctx); err != nil {
		return s, err
	}
	return s, nil
}

// platformsOf names the platforms of all actors, each once.
func platformsOf(p *bench.Plan) []string {
	names := map[string]bool{}
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			names[a.Platform.Driver()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// baselineOf is the driver of the platform that all others are compared with.
func baselineOf(p *bench.Plan) string {
	for _, s := range p.Scenes {
		if s.Platform.String() == p.Baseline {
			return s.Platform.Driver()
		}
	}
	return ""
}

// unopened is the engine of a platform that could not be opened: what it would
// have run is recorded as failed, and the other platforms are measured.
type unopened struct{ err error }

func (u unopened) Start(context.Context, bench.Launch) (bench.Instance, error) { return nil, u.err }
func (unopened) Close(context.Context) error                                   { return nil }

// Reads implements [bench.Reading], so that a cold launch fails for the reason there is.
func (unopened) Reads() []string { return nil }

// The end of a session.
const (
	closeDeadline = time.Minute
	// closeGrace is how much longer an engine may take that waits for what it has
	// killed; then it hangs in the kernel and is given up.
	closeGrace = 30 * time.Second
)

// close stops the engines and removes what the session made. It does so even
// if the run was cancelled.
func (s *session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeDeadline)
	defer cancel()
	var errs []error
	for name, e := range s.engines {
		if err := tool.Call(ctx, closeGrace, e.Close); err != nil {
			errs = append(errs, fmt.Errorf("close platform %s: %w", name, err))
		}
	}
	if s.lab != nil {
		if err := tool.Call(ctx, closeGrace, s.lab.Close); err != nil {
			errs = append(errs, err)
		}
	}
	if s.dir != "" {
		err := s.remove(context.Background(), s.dir)
		if err == nil {
			err = s.ledger.Release(bench.KindDir, s.dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the run's directory: %w", err))
		}
	}
	return errors.Join(errs...)
}

// measure carries out what of the plan is not finished.
func (a *app) measure(ctx context.Context, s *session, r *store.Run, finished map[string]bool, m manner) error {
	ws := map[string]bench.Workload{}
	for _, w := range workload.All() {
		ws[w.Name()] = w
	}
	g := newProgress(a.screen, r.Plan(), finishedTrials(r.Plan(), finished), m.verbose)
	defer g.close()
	runner := &run.Runner{
		ID: s.id, AgentPath: s.agent, Plan: r.Plan(), Engines: s.engines, Workloads: ws, Lab: s.lab, Sink: r, Remove: s.remove,
		Dir: s.dir, LLC: r.Host().LLC, Observer: r.Header().ObserverCPUs,
		Interval: time.Second, Notify: g.notify, Enough: stop.Enough(r.Plan(), r.Outcomes), Before: r.Outcomes(), Power: m.power, Mixed: m.mixed,
		Conditions: func(wanted map[string]string) (func() error, error) { return host.Set("/", s.dir, s.ledger, wanted) },
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	runner.Guard = &outercage.Guard{Run: s.id, Ledger: s.ledger, Watchdog: []string{self, watchdogWord}, Rules: outercage.DefaultRules()}
	if m.beside != nil {
		runner.Beside = func(ctx context.Context, scene *bench.Scene) ([]bench.Process, func(), error) {
			return m.beside(s, ctx, scene)
		}
	}
	return runner.Run(ctx, finished)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/lab"
	"tare/internal/ledger"
	"tare/internal/platform/all"
	"tare/internal/platform/trial"
	"tare/internal/spec"
	"tare/internal/statedir"
	"tare/internal/workload"
)

// platforms are the drivers there are, in the order they are listed.
func (a *app) platforms() []bench.Platform { return all.Platforms(a.state) }

// nestings are the platforms that run inside another.
func (a *app) nestings() []bench.Platform { return all.Nestings(a.state) }

// vocabulary is every word a specification may use.
func (a *app) vocabulary() spec.Vocabulary {
	v := spec.Vocabulary{Workloads: workload.All(), Fill: workload.Fill, Checks: audit.Names()}
	for _, p := range a.platforms() {
		v.Platforms = append(v.Platforms, spec.PlatformWord{Name: p.Name(), Options: p.Options(), On: a.outersOf(p.Name())})
	}
	return v
}

// outersOf names the platforms inside of which one can run.
func (a *app) outersOf(inner string) []string {
	var names []string
	for _, n := range a.nestings() {
		if in, outer, _ := strings.Cut(n.Name(), "@"); in == inner {
			names = append(names, outer)
		}
	}
	return names
}

// outers names the platforms inside of which others can run, each once.
func (a *app) outers() []string {
	var names []string
	for _, n := range a.nestings() {
		if _, outer, _ := strings.Cut(n.Name(), "@"); !slices.Contains(names, outer) {
			names = append(names, outer)
		}
	}
	return names
}

// How long a platform's check may take: doctor ends soon whatever a broken
// program does; a run must not lose a platform because the host is busy.
const (
	checkDeadline    = 5 * time.Second
	runCheckDeadline = 15 * time.Second
)

// checked is a platform with what its check found.
type checked struct {
	bench.Platform
	bench.Availability
	err error
}

// reason is why the platform cannot be used, without its name.
func (c *checked) reason() string { return strings.TrimPrefix(bench.Reason(c.err), c.Name()+": ") }

// checkAll checks every platform at once, and then the nestings in those that
// can be used: in the others nothing can run.
func (a *app) checkAll(ctx context.Context, limit time.Duration) []checked {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := checkEach(ctx, limit, a.platforms())
	without := map[string]error{}
	for _, c := range found {
		if c.err != nil {
			without[c.Name()] = c.err
		}
	}
	var inside []bench.Platform
	var none []checked
	for _, p := range a.nestings() {
		_, outer, _ := strings.Cut(p.Name(), "@")
		if err := without[outer]; err != nil {
			none = append(none, checked{Platform: p, err: fmt.Errorf("%s: %w", p.Name(), err)})
		} else {
			inside = append(inside, p)
		}
	}
	return append(append(found, checkEach(ctx, limit, inside)...), none...)
}

func checkEach(ctx context.Context, limit time.Duration, ps []bench.Platform) []checked {
	found := make([]checked, len(ps))
	var wg sync.WaitGroup
	for i, p := range ps {
		wg.Go(func() {
			av, err := p.Check(ctx)
			if ctx.Err() != nil && err != nil {
				err = fmt.Errorf("%s: no answer within %v: %v: %w%w", p.Name(), limit, strings.TrimPrefix(bench.Reason(err), p.Name()+": "),
					bench.ErrUnavailable, bench.Hint("the host is busy, or a program of this platform hangs; run it by hand"))
			}
			found[i] = checked{p, av, err}
		})
	}
	wg.Wait()
	return found
}

// offer tells the planner which platforms can be used here, and why the others cannot.
func offer(found []checked) (available map[string]bench.Availability, skips []bench.Skip) {
	available = map[string]bench.Availability{}
	for _, c := range found {
		if c.err != nil {
			skips = append(skips, bench.Skip{Platform: c.Name(), Reason: c.reason(), Hint: bench.HintOf(c.err)})
			continue
		}
		available[c.Name()] = c.Availability
	}
	return available, skips
}

// prober is a platform whose check alone cannot decide: a trial does.
type prober interface {
	Probe(ctx context.Context, e bench.Env) error
}

// probe lets the platforms of an experiment that need one make their trial, where
// the check is undecided. A verdict is kept until the host boots again.
func (a *app) probe(ctx context.Context, id string, e *spec.Experiment, img bench.Image, led *ledger.Ledger) (err error) {
	agent, err := agentPath()
	if err != nil {
		return err
	}
	dir := filepath.Join(a.state, "runs", id+"-trial")
	if err := led.Register(bench.KindDir, dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, statedir.Mode); err != nil {
		return fmt.Errorf("make a directory for trials: %w", err)
	}
	defer func() {
		gone := a.cleaner().RemoveDirs(context.Background(), dir)
		if gone == nil {
			gone = led.Release(bench.KindDir, dir)
		}
		err = errors.Join(err, gone)
	}()
	t := trials{app: a, ledger: led, env: bench.Env{Run: id, Image: img, Ledger: led, AgentPath: agent}, dir: dir}
	defer func() { err = errors.Join(err, t.close()) }()
	var errs []error
	for _, p := range slices.Concat(a.platforms(), a.nestings()) {
		if err := t.make(ctx, p, e.Uses(p.Name())); err != nil {
			errs = append(errs, fmt.Errorf("try platform %s: %w", p.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// trials are what a run tries before it is planned.
type trials struct {
	*app
	ledger *ledger.Ledger
	env    bench.Env
	dir    string
	lab    *lab.Lab // made when a trial needs one; nil before
}

// make lets the platform make its trials if it is used.
func (t *trials) make(ctx context.Context, p bench.Platform, used bool) error {
	try, ok := p.(prober)
	if !ok || !used {
		return nil
	}
	env := t.env
	env.Dir = t.dir
	_, starts := p.(*trial.Platform)
	if starts {
		found, err := p.Check(ctx)
		if err != nil || !found.Untried {
			return nil
		}
		if t.lab == nil {
			if t.lab, err = lab.New(ctx, t.env.Run, t.ledger); err != nil {
				return err
			}
		}
		env.Lab, env.Dir = t.lab, filepath.Join(t.dir, p.Name())
		if err := os.Mkdir(env.Dir, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "trying whether %s starts here\n", p.Name())
	}
	err := try.Probe(ctx, env)
	switch {
	case errors.Is(err, bench.ErrUnavailable):
		return nil // the check says it from now on
	case err != nil && starts && ctx.Err() == nil:
		fmt.Fprintf(t.stderr, "! that could not be tried: %v\n", err)
		return nil // what comes of it when the run opens the platform is recorded
	}
	return err
}

// close takes the lab back.
func (t *trials) close() error {
	if t.lab == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeDeadline)
	defer cancel()
	return t.lab.Close(ctx)
}

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/app/planning"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host/testnet"
	"tare/internal/image"
	"tare/internal/meter/power"
	"tare/internal/platform/docker"
	"tare/internal/platform/trial"
	"tare/internal/spec"
	"tare/internal/state"
	"tare/internal/state/ledger"
)

// prober is a platform whose check alone cannot decide: a trial does.
type prober interface {
	Probe(ctx context.Context, e bench.Env) error
}

// probe lets the platforms of an experiment that need one make their trial, where
// the check is undecided. A verdict is kept until the host boots again.
func probe(ctx context.Context, on *site.Site, e *spec.Experiment, env bench.Env) (err error) {
	if env.AgentPath, err = site.Agent(); err != nil {
		return err
	}
	env.Dir = filepath.Join(on.Dir, "runs", env.Run+"-trial")
	if err := env.Ledger.Register(bench.KindDir, env.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(env.Dir, state.Mode); err != nil {
		return fmt.Errorf("make a directory for trials: %w", err)
	}
	defer func() {
		gone := on.Cleaner().RemoveDirs(context.Background(), env.Dir)
		if gone == nil {
			gone = env.Ledger.Release(bench.KindDir, env.Dir)
		}
		err = errors.Join(err, gone)
	}()
	t := trials{env: env, notes: on.Notes}
	defer func() { err = errors.Join(err, t.close()) }()
	c := planning.Catalog{Dir: on.Dir}
	var errs []error
	for _, p := range slices.Concat(c.Platforms(), c.Nestings()) {
		if err := t.make(ctx, p, e.Uses(p.Name())); err != nil {
			errs = append(errs, fmt.Errorf("try platform %s: %w", p.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// trials are what a run tries before it is planned.
type trials struct {
	env     bench.Env
	notes   io.Writer
	testnet *testnet.Network // made when a trial needs one; nil before
}

// make lets the platform make its trials if it is used.
func (t *trials) make(ctx context.Context, p bench.Platform, used bool) error {
	try, ok := p.(prober)
	if !ok || !used {
		return nil
	}
	env := t.env
	_, starts := p.(*trial.Platform)
	if starts {
		found, err := p.Check(ctx)
		if err != nil || !found.Untried {
			return nil
		}
		if t.testnet == nil {
			if t.testnet, err = testnet.New(ctx, t.env.Run, t.env.Ledger); err != nil {
				return err
			}
		}
		env.Testnet, env.Dir = t.testnet, filepath.Join(t.env.Dir, p.Name())
		if err := os.Mkdir(env.Dir, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(t.notes, "trying whether %s starts here\n", p.Name())
	}
	err := try.Probe(ctx, env)
	switch {
	case errors.Is(err, bench.ErrUnavailable):
		return nil // the check says it from now on
	case err != nil && starts && ctx.Err() == nil:
		fmt.Fprintf(t.notes, "! that could not be tried: %v\n", err)
		return nil // what comes of it when the run opens the platform is recorded
	}
	return err
}

// close takes the test network back.
func (t *trials) close() error {
	if t.testnet == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeDeadline)
	defer cancel()
	return t.testnet.Close(ctx)
}

// powerMeters are the meters of one run.
type powerMeters []bench.PowerReader

// CheckPower is an error for a bad name and one that is there twice; it asks no meter.
func CheckPower(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if err := power.Check(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("power meter %s: named twice: %w", name, bench.ErrInvalid)
		}
		seen[name] = true
	}
	return nil
}

// openPower opens the meters by their names; each was read once. A bad name is
// found before any meter is asked.
func openPower(ctx context.Context, names []string) (powerMeters, error) {
	if err := CheckPower(names); err != nil {
		return nil, err
	}
	var open powerMeters
	for _, name := range names {
		r, err := power.Open(ctx, name)
		if err != nil {
			open.close()
			return nil, err
		}
		open = append(open, r)
	}
	return open, nil
}

func (ms powerMeters) sources() []bench.PowerSource {
	var all []bench.PowerSource
	for _, m := range ms {
		all = append(all, m.Source())
	}
	return all
}

// close closes them; a meter that does not take its leave is no concern of the run's.
func (ms powerMeters) close() {
	for _, m := range ms {
		_ = m.Close()
	}
}

// Importers make the forms that a platform's daemon keeps. Docker's has a
// store of its own for it, in the directory that is measured.
func Importers(img *image.Image, led *ledger.Ledger, id string) []image.Maker {
	return []image.Maker{{
		Format: "docker", What: "imported by Docker, in its store", From: "tar", Command: "docker import TAR",
		Make: func(ctx context.Context, tar, dir string) (time.Duration, error) {
			return imported(ctx, docker.New(dir), bench.Env{Run: id, Image: archived{img, tar}, Ledger: led, Dir: dir})
		},
	}}
}

// archived is an image whose archive is at hand.
type archived struct {
	*image.Image
	tar string
}

// Tar returns the archive.
func (i archived) Tar(context.Context) (string, error) { return i.tar, nil }

// imported opens the platform in a test network of its own and tells how long it imported the image.
func imported(ctx context.Context, p bench.Platform, env bench.Env) (took time.Duration, err error) {
	if _, err := p.Check(ctx); err != nil {
		return 0, err
	}
	l, err := testnet.New(ctx, env.Run, env.Ledger)
	if err != nil {
		return 0, err
	}
	env.Testnet = l
	closed := func(f func(context.Context) error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeDeadline)
		defer cancel()
		err = errors.Join(err, f(ctx))
	}
	defer closed(l.Close)
	e, err := p.Open(ctx, env)
	if err != nil {
		return 0, err
	}
	defer closed(e.Close)
	if took = e.(bench.Importing).Imported(); took == 0 {
		err = fmt.Errorf("%s: the image was imported already", p.Name())
	}
	return took, err
}

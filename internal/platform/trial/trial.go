package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/tree"
	"tare/internal/platform/launch"
)

// Limit is how long the instance of a trial may take until its agent greets, on an
// ordinary host. Most take a second.
const Limit = 20 * time.Second

// Platform is a platform that runs on a host where it has started once, or those of
// its variants that have: its Check goes by the verdicts there are, and its Open makes the
// trials that are missing.
type Platform struct {
	bench.Platform
	book   Book
	option string
	limit  time.Duration
}

// Of returns the platform, tried with each value of the option and the defaults of all
// others; or with its defaults only if option is "". Verdicts are kept in the directory state.
func Of(p bench.Platform, state, option string) *Platform {
	return &Platform{Platform: p, book: Book{State: state}, option: option, limit: Limit}
}

// Within is the platform with another limit than [Limit].
func (p *Platform) Within(limit time.Duration) *Platform {
	p.limit = limit
	return p
}

// Traits are the platform's, which keeps verdicts besides.
func (p *Platform) Traits() bench.Traits {
	t := p.Platform.Traits()
	t.Kept = append(slices.Clone(t.Kept), bench.Kept{Pattern: "tried-*.json", What: "whether a platform starts here"})
	return t
}

// Chosen implements [bench.Choosing]. A build that a launch chooses is not tried.
func (p *Platform) Chosen(own error) bench.Platform {
	if c, ok := p.Platform.(bench.Choosing); ok {
		return c.Chosen(own)
	}
	return nil
}

// variants are the options of each trial.
func (p *Platform) variants() []map[string]string {
	defaults := bench.Variant(p.Options(), nil)
	if p.option == "" {
		return []map[string]string{defaults}
	}
	var list []map[string]string
	for _, o := range p.Options() {
		for _, value := range o.Values {
			if o.Name == p.option {
				list = append(list, bench.Variant(p.Options(), map[string]string{p.option: value}))
			}
		}
	}
	return list
}

// name is that of a variant's verdict.
func (p *Platform) name(options map[string]string) string {
	if p.option == "" {
		return "tried-" + p.Name()
	}
	return "tried-" + p.Name() + "-" + p.option + "-" + options[p.option]
}

// Check implements [bench.Platform]. Variants that failed their trial are among what
// the host lacks; where all did, the platform is unavailable. One that is yet to be tried counts as
// available, and [bench.Availability.Untried] says so.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	a, err := p.Platform.Check(ctx)
	if err != nil {
		return a, err
	}
	return p.judge(a)
}

// judge adds to what the platform's own check found what trials did.
func (p *Platform) judge(a bench.Availability) (bench.Availability, error) {
	var failed []error
	works := 0
	for _, options := range p.variants() {
		if a.Lacking(options) != nil {
			continue
		}
		v, ok, err := p.book.Look(p.name(options), a.Version)
		switch {
		case err != nil:
			return bench.Availability{}, fmt.Errorf("%s: %w", p.Name(), err)
		case !ok:
			a.Untried = true
			works++
		case v.Works:
			works++
		default:
			hint := "the host must be another, or its CPU; to try again remove " + p.book.File(p.name(options))
			if v.Late {
				hint = "the host may have been too busy: the next run tries again"
			}
			err := fmt.Errorf("a trial start failed: %s: %w%w", v.Reason, bench.ErrUnavailable, bench.Hint(hint))
			failed = append(failed, err)
			if p.option != "" {
				a.Lack(p.option, options[p.option], err)
			}
		}
	}
	if works == 0 && len(failed) > 0 {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.Name(), failed[0])
	}
	return a, nil
}

// Probe makes the trials that are missing, by opening and closing the platform. It
// returns nil, an error that wraps [bench.ErrUnavailable], or what kept it from trying.
func (p *Platform) Probe(ctx context.Context, e bench.Env) error {
	a, err := p.Check(ctx)
	if err != nil || !a.Untried {
		return err
	}
	engine, err := p.Open(ctx, e)
	if err != nil {
		return err
	}
	return engine.Close(context.WithoutCancel(ctx))
}

// Open implements [bench.Platform]: it opens the platform, starts and ends an instance of
// each variant that has no verdict, and keeps what became of it.
func (p *Platform) Open(ctx context.Context, e bench.Env) (bench.Engine, error) {
	a, err := p.Check(ctx)
	if err != nil {
		return nil, err
	}
	engine, err := p.Platform.Open(ctx, e)
	if err != nil || !a.Untried {
		return engine, err
	}
	err = p.tryAll(ctx, e, engine, a)
	if err == nil {
		_, err = p.Check(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close(context.WithoutCancel(ctx)))
	}
	return engine, nil
}

func (p *Platform) tryAll(ctx context.Context, e bench.Env, engine bench.Engine, a bench.Availability) error {
	for n, options := range p.variants() {
		if a.Lacking(options) != nil {
			continue
		}
		if _, ok, err := p.book.Look(p.name(options), a.Version); ok || err != nil {
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name(), err)
			}
			continue
		}
		began := time.Now()
		failed, err := p.try(ctx, e, engine, n, options)
		if err != nil {
			return fmt.Errorf("%s: trial start: %w", p.Name(), err)
		}
		if err := p.book.Keep(p.name(options), a.Version, began, failed); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
	}
	return nil
}

// size is the shape of an instance that is tried: enough for any platform's.
var size = bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: 256 * bench.MiB}

// try starts one instance and waits until its agent greets: failed is why that
// did not happen, err what kept it from being tried.
func (p *Platform) try(ctx context.Context, e bench.Env, engine bench.Engine, n int, options map[string]string) (failed Failure, err error) {
	l := bench.Launch{ID: fmt.Sprintf("%s-try%d", e.Run, n), Shape: size, Options: options,
		Dir: filepath.Join(e.Dir, fmt.Sprintf("try%d", n))}
	if l.CPUSet, err = usable(); err != nil {
		return Failure{}, err
	}
	if err := os.Mkdir(l.Dir, 0o755); err != nil {
		return Failure{}, err
	}
	defer func() { err = errors.Join(err, tree.Remove(l.Dir)) }()
	most := e.Patience(p.limit)
	limited, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not up after %v", most))
	defer cancel()
	i, why := engine.Start(limited, l)
	late := limited.Err() != nil
	if why == nil {
		why = greeted(limited, i)
		late = limited.Err() != nil
		err = i.Close(context.WithoutCancel(ctx))
	}
	var fatal *launch.Fatal
	switch {
	case ctx.Err() != nil: // given up, which says nothing of the platform
		return Failure{}, errors.Join(context.Cause(ctx), err)
	case errors.Is(why, syscall.ENOSPC), errors.Is(why, syscall.ENOMEM): // nor does a full host
		return Failure{}, errors.Join(why, err)
	case why == nil:
		return Failure{}, err
	}
	return Failure{Reason: bench.Reason(why), Late: late && !errors.As(why, &fatal)}, err
}

// greeted waits for the agent of the instance.
func greeted(ctx context.Context, i bench.Instance) error {
	client, err := agent.Dial(ctx, i.Stream())
	if err == nil {
		client.Close()
		return nil
	}
	var fatal *launch.Fatal
	if errors.As(err, &fatal) {
		return fatal
	}
	lines := strings.Split(strings.TrimSpace(i.Log()), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		err = fmt.Errorf("%w; it last said %.200q", err, last)
	}
	return err
}

// usable is the last CPU that this process may use: runs keep the first for themselves.
func usable() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("usable CPUs: %w", err)
	}
	for cpu := len(set)*64 - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			return []int{cpu}, nil
		}
	}
	return nil, errors.New("usable CPUs: none")
}

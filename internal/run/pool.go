package run

import (
	"context"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/run/containment"
)

// poolInterval is how often it is looked at what a pool holds.
const poolInterval = 250 * time.Millisecond

// pool is a scene's pool of memory, with whoever looks at what it holds.
type pool struct {
	group *containment.Group
	stop  context.CancelFunc // of the looking
	done  chan struct{}      // closed once it has ended
	most  bench.Pool         // its owner's until done
	err   error
}

// poolName names a trial's.
func poolName(trial string) string { return "pool-" + trial }

// newPool makes the control group whose memory all actors but peers share, and begins to
// look at it. Without a guard there can be none, an error.
func newPool(ctx context.Context, guard *containment.Guard, name string, memory bench.Bytes) (*pool, error) {
	if guard == nil {
		return nil, fmt.Errorf("the scene needs a pool of memory, and nothing here can make one: %w", bench.ErrUnavailable)
	}
	group, err := guard.Pool(name, memory)
	if err != nil {
		return nil, err
	}
	p := &pool{group: group, done: make(chan struct{}), most: bench.Pool{Memory: memory}}
	ctx, p.stop = context.WithCancel(ctx)
	go p.watch(ctx)
	return p, nil
}

// watch keeps the most that the pool held, until ctx ends.
func (p *pool) watch(ctx context.Context) {
	defer close(p.done)
	for {
		used, swapped, err := p.group.Held()
		if err != nil {
			p.err = err
			return
		}
		p.most.Used, p.most.Swapped = max(p.most.Used, used), max(p.most.Swapped, swapped)
		select {
		case <-ctx.Done():
			return
		case <-time.After(poolInterval):
		}
	}
}

// end keeps how the pool fared, while its instances are still there.
func (p *pool) end(actors cast, k *account) {
	p.stop()
	<-p.done
	if p.err != nil {
		k.warn("%v", p.err)
	}
	k.outcome.Pool = &p.most
	for _, a := range actors {
		if s := a.outcome.Scope; s != nil && s.Domain != 0 {
			k.warn("the memory of %s is the hypervisor's, and not in the pool", a.Name)
		}
		if a.instance != nil && a.outOfMemory() > 0 {
			p.most.Killed = append(p.most.Killed, a.Name)
		}
	}
}

// starved reports whether a pool had no room for all: then a trial that fails
// did not finish, which is a finding.
func starved(p *bench.Pool) bool {
	return p != nil && (p.Swapped > 0 || len(p.Killed) > 0)
}

// balloonLimit bounds how long a guest may take to give memory back.
const balloonLimit = 60 * time.Second

// inflate has the instances of an over-committed pool make do with their share
// of it, as far as they have a balloon. The ratio is that of their memory to the pool's.
func (c cast) inflate(ctx context.Context, ratio float64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, balloonLimit, fmt.Errorf("not settled after %v", balloonLimit))
	defer cancel()
	return c.each(func(a *actor) error {
		instance, can := a.instance.(bench.Ballooned)
		if !can || a.Role == bench.Peer {
			return nil
		}
		b, ok, err := instance.Balloon(ctx, bench.Bytes(float64(a.Shape.Memory)/ratio))
		if err != nil {
			return fmt.Errorf("inflate the balloon of %s: %w", a.Name, err)
		}
		if ok {
			a.outcome.Balloon = &b
		}
		return nil
	})
}

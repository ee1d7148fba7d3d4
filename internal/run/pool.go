package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/outercage"
	"tare/internal/proc"
)

// poolInterval is how often it is looked at what a pool holds.
const poolInterval = 250 * time.Millisecond

// pool is a scene's pool of memory, with whoever looks at what it holds.
type pool struct {
	cage *outercage.Cage
	end  context.CancelFunc // of the looking
	done chan struct{}      // closed once it has ended
	most bench.Pool         // its owner's until done
	err  error
}

func (x *trial) poolName() string { return "pool-" + x.trial.ID }

// makePool makes the control group whose memory all actors but peers share.
func (x *trial) makePool(ctx context.Context) error {
	if x.scene.MemoryPool == 0 {
		return nil
	}
	if x.Guard == nil {
		return fmt.Errorf("the scene needs a pool of memory, and nothing here can make one: %w", bench.ErrUnavailable)
	}
	cage, err := x.Guard.Pool(x.poolName(), x.scene.MemoryPool)
	if err != nil {
		return err
	}
	p := &pool{cage: cage, done: make(chan struct{}), most: bench.Pool{Memory: x.scene.MemoryPool}}
	ctx, p.end = context.WithCancel(ctx)
	x.pool = p
	go p.watch(ctx)
	return nil
}

// watch keeps the most that the pool held, until ctx ends.
func (p *pool) watch(ctx context.Context) {
	defer close(p.done)
	for {
		used, swapped, err := p.cage.Held()
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

// endPool keeps how the pool fared, while its instances are still there.
func (x *trial) endPool() {
	x.pool.end()
	<-x.pool.done
	if x.pool.err != nil {
		x.warn("%v", x.pool.err)
	}
	x.outcome.Pool = &x.pool.most
	for _, a := range x.actors {
		if s := a.outcome.Scope; s != nil && s.Domain != 0 {
			x.warn("the memory of %s is the hypervisor's, and not in the pool", a.Name)
		}
		if a.instance != nil && x.outOfMemory(a) > 0 {
			x.outcome.Pool.Killed = append(x.outcome.Pool.Killed, a.Name)
		}
	}
}

// starved reports whether the pool had no room for all: then a trial that fails
// did not finish, which is a finding.
func (x *trial) starved() bool {
	p := x.outcome.Pool
	return p != nil && (p.Swapped > 0 || len(p.Killed) > 0)
}

// balloonLimit bounds how long a guest may take to give memory back.
const balloonLimit = 60 * time.Second

// inflate has the instances of an over-committed pool make do with their share
// of it, as far as they have a balloon.
func (x *trial) inflate(ctx context.Context) error {
	ratio := x.scene.MemoryRatio()
	if ratio <= 1 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, balloonLimit, fmt.Errorf("not settled after %v", balloonLimit))
	defer cancel()
	errs := make([]error, len(x.actors))
	var all sync.WaitGroup
	for i, a := range x.actors {
		instance, can := a.instance.(bench.Ballooned)
		if !can || a.Role == bench.Peer {
			continue
		}
		all.Go(func() {
			b, ok, err := instance.Balloon(ctx, bench.Bytes(float64(a.Shape.Memory)/ratio))
			if err != nil {
				errs[i] = fmt.Errorf("inflate the balloon of %s: %w", a.Name, err)
			} else if ok {
				a.outcome.Balloon = &b
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// swapSpaces are the host's, with their sizes: "/dev/sda2 8 GiB"; "none" where there are none.
func swapSpaces(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	all, err := proc.ParseSwaps(text)
	if err != nil {
		return ""
	}
	said := "none"
	for i, s := range all {
		if i == 0 {
			said = ""
		} else {
			said += ", "
		}
		said += s.Path + " " + bench.Bytes(s.Size).String()
	}
	return said
}

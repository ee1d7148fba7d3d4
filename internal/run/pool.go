package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/proc"
)

func (x *trial) poolName() string { return "pool-" + x.trial.ID }

// makePool makes the control group whose memory all actors but peers share.
func (x *trial) makePool() (err error) {
	if x.scene.MemoryPool == 0 {
		return nil
	}
	if x.Guard == nil {
		return fmt.Errorf("the scene needs a pool of memory, and nothing here can make one: %w", bench.ErrUnavailable)
	}
	x.pool, err = x.Guard.Pool(x.poolName(), x.scene.MemoryPool)
	return err
}

// notePool keeps how the pool fares. What it held is that of the last time at
// which the programs were still there.
func (x *trial) notePool() {
	if x.pool == nil {
		return
	}
	first := x.outcome.Pool == nil
	if first {
		x.outcome.Pool = &bench.Pool{Memory: x.scene.MemoryPool}
	}
	p := x.outcome.Pool
	if used, swapped, err := x.pool.Held(); err != nil {
		x.warn("%v", err)
	} else if first {
		p.Used, p.Swapped = used, swapped
	}
	p.Killed = nil
	for _, a := range x.actors {
		if a.instance != nil && x.outOfMemory(a) > 0 {
			p.Killed = append(p.Killed, a.Name)
		}
	}
}

// starved reports whether the kernel killed something in the pool for want of memory.
func (x *trial) starved() bool { return x.outcome.Pool != nil && len(x.outcome.Pool.Killed) > 0 }

// balloonLimit bounds how long a guest may take to give memory back.
const balloonLimit = 60 * time.Second

// deflate has the instances of an over-committed pool make do with their share
// of it, as far as they have a balloon.
func (x *trial) deflate(ctx context.Context) error {
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

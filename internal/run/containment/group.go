// Package containment keeps the host usable beside an adversarial workload:
// a control group of Tare's own around the instance, whatever its platform
// enforces, and a watchdog in a process of its own that times how long the host
// takes to start a program and kills the containments when it suffers, when their time
// is over or when Tare itself dies.
package containment

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Guard makes containments and watchdogs for one run.
type Guard struct {
	Run    string // the run's id, under which the groups lie
	Ledger bench.Ledger
	// Watchdog is the command line that becomes [Watchdog]: this program's own, as a rule.
	Watchdog []string
	Rules    Rules
}

// Group is one containment.
type Group struct {
	group  *cgroup.Group
	ledger bench.Ledger
}

// Group makes a containment of the name, [a-z0-9-]+. A host that cannot bound tasks and
// memory can hold none; the error then wraps [bench.ErrUnavailable].
func (g *Guard) Contain(name string, l bench.Containment) (*Group, error) {
	return g.enclose(name, cgroup.Limits{Pids: l.Pids, Memory: l.Memory},
		"adversarial workloads need bounds on tasks and memory: enable the pids and memory controllers, or leave the scene out")
}

// unbounded swap is bounded by what there is.
const unbounded = bench.Bytes(1) << 60

// Pool makes a control group of the name in which instances share so much
// memory; what the kernel does not find room for there it swaps out.
func (g *Guard) Pool(name string, memory bench.Bytes) (*Group, error) {
	return g.enclose(name, cgroup.Limits{Memory: memory, Swap: unbounded}, "a pool of memory needs the memory controller, with its account of swap space (swapaccount=1)")
}

// Turns makes a control group of the name that bounds nothing, for an instance that is frozen
// from time to time.
func (g *Guard) Turns(name string) (*Group, error) {
	return g.enclose(name, cgroup.Limits{}, "")
}

func (g *Guard) enclose(name string, l cgroup.Limits, needs bench.Hint) (*Group, error) {
	host, err := cgroup.Detect()
	if err != nil {
		return nil, fmt.Errorf("make containment %s: %w", name, err)
	}
	c := &Group{group: host.Group(g.Run + "/" + name), ledger: g.Ledger}
	if err := g.Ledger.Register(bench.KindCgroup, c.group.Name()); err != nil {
		return nil, fmt.Errorf("make containment %s: %w", name, err)
	}
	_, missing, err := host.Create(c.group.Name(), l)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("this host has no control group for: %v: %w%w", missing, bench.ErrUnavailable, needs)
	}
	if err != nil {
		return nil, fmt.Errorf("make containment %s: %w", name, errors.Join(err, c.Close(context.Background())))
	}
	return c, nil
}

// Name is that of the containment's group, relative to [bench.CgroupRoot].
func (c *Group) Name() string { return c.group.Name() }

// Held is the memory of what is inside, and what it has in swap space.
func (c *Group) Held() (used, swapped bench.Bytes, err error) { return c.group.Held() }

// Freeze stops everything inside, and Thaw lets it go on; see [cgroup.Group.Freeze].
func (c *Group) Freeze(ctx context.Context) error { return c.group.Freeze(ctx) }

// Thaw: see Freeze.
func (c *Group) Thaw() error { return c.group.Thaw() }

// Kill ends everything inside, at once where the kernel can, and else forks first.
func (c *Group) Kill(ctx context.Context) error { return c.group.Kill(ctx) }

// Close kills what is left inside and removes the containment.
func (c *Group) Close(ctx context.Context) error {
	err := c.group.Kill(ctx)
	if err == nil {
		err = c.group.Remove()
	}
	if err == nil {
		err = c.ledger.Release(bench.KindCgroup, c.group.Name())
	}
	if err != nil {
		return fmt.Errorf("close containment: %w", err)
	}
	return nil
}

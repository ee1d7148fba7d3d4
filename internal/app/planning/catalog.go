// Package planning works out on this host what is asked to be measured: the words a
// specification may use, the platforms that can be used here, and the plan.
package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/analysis/audit"
	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/platform/all"
	"tare/internal/spec"
	"tare/internal/workload"
)

// Catalog is what can be measured with.
type Catalog struct {
	Dir string // the state directory
}

// Platforms are the drivers there are, in the order they are listed.
func (c Catalog) Platforms() []bench.Platform { return all.Platforms(c.Dir) }

// Nestings are the platforms that run inside another.
func (c Catalog) Nestings() []bench.Platform { return all.Nestings(c.Dir) }

// Words is every word a specification may use.
func (c Catalog) Words() spec.Vocabulary {
	v := spec.Vocabulary{Workloads: workload.All(), Fill: workload.Fill, Checks: audit.Names()}
	for _, p := range c.Platforms() {
		word := spec.PlatformWord{Name: p.Name(), Options: p.Options(), On: c.Outers(p.Name())}
		for _, program := range p.Traits().Programs {
			if program.For == "" {
				word.Also = append(word.Also, program.Name)
			}
		}
		v.Platforms = append(v.Platforms, word)
	}
	return v
}

// Outers names the platforms inside of which a platform can run, or any if inner is
// empty, each once.
func (c Catalog) Outers(inner string) []string {
	var names []string
	for _, n := range c.Nestings() {
		in, outer, _ := strings.Cut(n.Name(), "@")
		if (inner == "" || in == inner) && !slices.Contains(names, outer) {
			names = append(names, outer)
		}
	}
	return names
}

// Patience is how long the check of a platform may take before a run, which must not
// lose a platform because the host is busy.
const Patience = 15 * time.Second

// Checked is a platform with what its check found.
type Checked struct {
	bench.Platform
	bench.Availability
	Err error // why it cannot be used; nil if it can
}

// Reason is why the platform cannot be used, without its name.
func (c *Checked) Reason() string { return strings.TrimPrefix(bench.Reason(c.Err), c.Name()+": ") }

// Check checks every platform at once, and then the nestings in those that
// can be used: in the others nothing can run.
func (c Catalog) Check(ctx context.Context, limit time.Duration) []Checked {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := checkEach(ctx, limit, c.Platforms())
	without := map[string]error{}
	for _, c := range found {
		if c.Err != nil {
			without[c.Name()] = c.Err
		}
	}
	var inside []bench.Platform
	var none []Checked
	for _, p := range c.Nestings() {
		_, outer, _ := strings.Cut(p.Name(), "@")
		if err := without[outer]; err != nil {
			none = append(none, Checked{Platform: p, Err: fmt.Errorf("%s: %w", p.Name(), err)})
		} else {
			inside = append(inside, p)
		}
	}
	return append(append(found, checkEach(ctx, limit, inside)...), none...)
}

// FirstUsable is the first of the platforms that can be used here, or the last if none before it can.
func (c Catalog) FirstUsable(ctx context.Context, names ...string) string {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	last := len(names) - 1
	for _, name := range names[:last] {
		for _, p := range c.Platforms() {
			if p.Name() == name && checkEach(ctx, Patience, []bench.Platform{p})[0].Err == nil {
				return name
			}
		}
	}
	return names[last]
}

func checkEach(ctx context.Context, limit time.Duration, ps []bench.Platform) []Checked {
	found := make([]Checked, len(ps))
	var wg sync.WaitGroup
	for i, p := range ps {
		wg.Go(func() {
			av, err := p.Check(ctx)
			if ctx.Err() != nil && err != nil {
				err = fmt.Errorf("%s: no answer within %v: %v: %w%w", p.Name(), limit, strings.TrimPrefix(bench.Reason(err), p.Name()+": "),
					bench.ErrUnavailable, bench.Hint("the host is busy, or a program of this platform hangs; run it by hand"))
			}
			found[i] = Checked{p, av, err}
		})
	}
	wg.Wait()
	return found
}

// CheckChoosing is [Catalog.Check], but that a platform whose own program cannot be used is
// available for the variants that choose another, if it is chosen for this driver.
func (c Catalog) CheckChoosing(ctx context.Context, limit time.Duration, chosen func(driver string) bool) []Checked {
	found := c.Check(ctx, limit)
	for i, f := range found {
		p, ok := f.Platform.(bench.Choosing)
		if !ok || f.Err == nil || !chosen(f.Name()) {
			continue
		}
		if other := p.Chosen(fmt.Errorf("%s: %w%w", f.Reason(), bench.ErrUnavailable, bench.Hint(bench.HintOf(f.Err)))); other != nil {
			av, err := other.Check(ctx)
			found[i] = Checked{other, av, err}
		}
	}
	return found
}

// offer tells the planner which platforms can be used here, how long they take to
// launch, and why the others cannot be used.
func offer(in *plan.Inputs, found []Checked) {
	in.Available, in.Launches = map[string]bench.Availability{}, map[string]time.Duration{}
	for _, c := range found {
		if c.Err != nil {
			in.Skips = append(in.Skips, bench.Skip{Platform: c.Name(), Reason: c.Reason(), Hint: bench.HintOf(c.Err)})
			continue
		}
		in.Available[c.Name()], in.Launches[c.Name()] = c.Availability, c.Traits().Launch
	}
}

// Package nest composes two platforms: an instance of the outer one is a host
// for the inner one.
//
//	host                        outer guest                inner instance
//	nest.engine -- outer agent  agent
//	     |------- tare.nest --- tare nested -- the inner platform's own driver
//	     '------- tare.inner -- (splices) ---------------- agent
//
// The outer guest boots from an image of its own, which has the inner
// platform's programs and none of what is measured, with the golden image's
// kernel. The golden image and Tare itself are two further read-only disks.
// tare, started there by the outer agent, runs the driver that a host would
// run, in a test network of its own into which it takes the machine's network device.
//
// The inner platform may be a nesting itself, which is then started by that
// driver in the outer guest: runc@xen-pv@qemu-tcg is runc@xen-pv in a guest of qemu-tcg.
// The image its own outer guest boots from is one disk more.
//
// Nothing of an inner instance is on the host but bytes in the outer's disks,
// so whatever takes back an outer instance takes back all.
package nest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"tare/internal/bench"
)

// Setup is what every nesting needs besides its platforms.
type Setup struct {
	// Hosts opens the image the outer guests boot from; closing what it returns
	// lets go of it. It is not built here: without it the error wraps
	// [bench.ErrUnavailable].
	Hosts func(ctx context.Context) (HostImage, error)
	// Inside, where the inner platform is a nesting too, opens the image that
	// its outer guest boots from.
	Inside func(ctx context.Context) (HostImage, error)
	// Versions are those of the programs in both, without a look at their files.
	Versions func() (map[string]string, error)
	// Hypervisor is the file in the image's root file system of the hypervisor that
	// boots before the guest, packed by gzip; none if it is empty. The image
	// then has the kernel of the control domain as well.
	Hypervisor string
	// Program is the path of tare on the host.
	Program func() (string, error)
	// Tools, in a guest that has the disk with Tare, is that disk, and no other is made.
	Tools func() (string, error)
}

// HostImage is the image of the outer guests.
type HostImage interface {
	bench.Image
	Close() error
}

// Platform is the nesting of two.
type Platform struct {
	inner, outer bench.Platform
	setup        Setup
}

// New returns the nesting of inner, which may be a nesting itself, in outer, whose
// instances must be virtual machines that know [bench.Hosting].
func New(inner, outer bench.Platform, s Setup) *Platform { return &Platform{inner, outer, s} }

// Inner and Outer are the names of the two.
func (p *Platform) Inner() string { return p.inner.Name() }
func (p *Platform) Outer() string { return p.outer.Name() }

// Name implements [bench.Platform]: "docker@qemu-tcg".
func (p *Platform) Name() string { return bench.Nested(p.inner.Name(), p.outer.Name()) }

// Summary implements [bench.Platform].
func (p *Platform) Summary() string {
	return fmt.Sprintf("%s in a guest of %s: %s", p.inner.Name(), p.outer.Name(), p.inner.Summary())
}

// Options implements [bench.Platform]: the inner platform's, and the outer's with as many @
// before their names as there are platforms inside of it.
func (p *Platform) Options() []bench.Option {
	list := p.inner.Options()
	for _, o := range p.outer.Options() {
		for range p.depth() {
			o.Name = bench.OuterName(o.Name)
		}
		list = append(list, o)
	}
	return list
}

// Traits are, of what it asks of a guest that is its host, those of the outer
// platform, which that guest runs itself.
func (p *Platform) Traits() bench.Traits {
	return bench.Traits{Launch: time.Duration(p.depth()) * launchTime, Nesting: p.outer.Traits().Nesting}
}

// launchTime is what each outer guest adds to a launch.
const launchTime = 40 * time.Second

// depth is how many platforms are inside of the outer one.
func (p *Platform) depth() int { return len(levels(p.inner)) }

// levels are the platforms of a nesting, the innermost first, or the one that is none.
func levels(p bench.Platform) []bench.Platform {
	if n, ok := p.(*Platform); ok {
		return append(levels(n.inner), n.outer)
	}
	return []bench.Platform{p}
}

// asks is what the platform asks of an outer guest.
func asks(p bench.Platform) bench.Nesting {
	n := bench.Nesting{}
	if asked := p.Traits().Nesting; asked != nil {
		n = *asked
	}
	n.Program, n.Memory = cmp.Or(n.Program, p.Name()), cmp.Or(n.Memory, bench.NestingMemory)
	return n
}

// divide tells the options of the inner platform from those of the outer one.
func (p *Platform) divide(options map[string]string) (inner, outer map[string]string) {
	inner, outer = map[string]string{}, map[string]string{}
	for k, v := range options {
		name, is := k, true
		for range p.depth() {
			if is {
				name, is = bench.OuterOption(name)
			}
		}
		if is {
			outer[name] = v
		} else {
			inner[k] = v
		}
	}
	return inner, outer
}

// Check implements [bench.Platform]. The versions of inner platforms are those of
// their programs in the outer guests' images, or of the host's that are carried there.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	fail := func(err error) (bench.Availability, error) {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.Name(), err)
	}
	outer, err := p.outer.Check(ctx)
	if err != nil {
		return fail(err)
	}
	programs, err := p.setup.Versions()
	if err != nil {
		return fail(err)
	}
	a := bench.Availability{Label: label(outer.Label), Programs: map[string]string{}, Beyond: p.beyond()}
	if inner := p.innermost(); len(asks(inner).Carry) > 0 {
		carried, err := inner.Check(ctx)
		if err != nil {
			return fail(err)
		}
		programs = maps.Clone(programs)
		programs[asks(inner).Program] = carried.Version
	}
	for name, v := range outer.Programs {
		a.Programs["outer "+name] = v
	}
	var versions []string
	for _, level := range levels(p.inner) {
		program := asks(level).Program
		version := programs[program]
		if version == "" {
			return fail(fmt.Errorf("%s is not in the image of the outer guest: %w", level.Name(), bench.ErrUnavailable))
		}
		a.Programs[program] = version
		versions = append(versions, version)
	}
	a.Version = strings.Join(append(versions, outer.Version), "@")
	for _, c := range outer.Caveats {
		a.Caveats = append(a.Caveats, p.outerCaveat(c))
	}
	for _, l := range outer.Lacks {
		a.Lacks = append(a.Lacks, bench.Lack{With: p.among(l.With), Err: l.Err})
	}
	p.lackInside(&a, programs)
	return a, nil
}

// outerCaveat is one of the outer platform's, among the nesting's options.
func (p *Platform) outerCaveat(c bench.Caveat) bench.Caveat {
	return bench.Caveat{Text: p.outer.Name() + ": " + c.Text, With: p.among(c.With)}
}

// among gives options of the outer platform the names they have among the nesting's.
func (p *Platform) among(options map[string]string) map[string]string {
	with := map[string]string{}
	for k, v := range options {
		for range p.depth() {
			k = bench.OuterName(k)
		}
		with[k] = v
	}
	return with
}

// innermost is the platform of the instance itself.
func (p *Platform) innermost() bench.Platform { return levels(p.inner)[0] }

// Probe lets an outer platform make its trial that needs one. In an outer guest
// nobody else does; on a host this is the outer platform's own affair.
func (p *Platform) Probe(ctx context.Context, e bench.Env) error {
	type prober interface {
		Probe(ctx context.Context, e bench.Env) error
	}
	t, ok := p.outer.(prober)
	if !ok {
		return nil
	}
	if err := t.Probe(ctx, e); err != nil {
		return fmt.Errorf("%s: %w", p.Name(), err)
	}
	return nil
}

// lackInside notes the variants of the inner platform that cannot run in the outer
// guest: those that can in none, and those whose programs are not in the images.
func (p *Platform) lackInside(a *bench.Availability, programs map[string]string) {
	inner := asks(p.innermost())
	a.Lacks = append(a.Lacks, inner.Lacks...)
	for choice, needs := range inner.Options {
		if programs[needs] == "" {
			option, value, _ := strings.Cut(choice, "=")
			a.Lack(option, value, fmt.Errorf("%s is not in the images of a nesting: %w%w", needs, bench.ErrUnavailable,
				bench.Hint("use another value, or run it on a host that has it")))
		}
	}
}

// label is worn by every figure of a nesting, with whatever the outer
// platform's own figures say of themselves: "nested, emulated (tcg)".
func label(outer string) string {
	if outer == "" {
		return nested
	}
	return nested + ", " + outer
}

const nested = "nested"

package nest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/nested/wire"
	"tare/internal/host/clock"
)

// engine starts nested instances: each in an outer guest of its own.
type engine struct {
	p      *Platform
	env    bench.Env
	hosts  HostImage
	inside HostImage // of the inner nesting's outer guests; nil for none
	disks  []string  // of the outer guest, read-only
	made   string    // the disk with tare, if it was made here
	xen    string    // the hypervisor, unpacked; "" for none
	outer  bench.Engine
	slow   float64 // as in [bench.Env], of outer guests
}

// Open implements [bench.Platform].
func (p *Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{p: p, env: env}
	if err := e.open(ctx); err != nil {
		err = fmt.Errorf("open %s: %w", p.Name(), err)
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	return e, nil
}

func (e *engine) open(ctx context.Context) (err error) {
	if e.hosts, err = e.p.setup.Hosts(ctx); err != nil {
		return err
	}
	env, own := e.env, ""
	env.Image = bootImage{e.hosts, e.env.Image}
	if e.p.setup.Hypervisor != "" {
		env.Image = e.hosts
		if e.xen, own, err = e.hypervisor(ctx); err != nil {
			return err
		}
	}
	if err := e.furnish(ctx, own); err != nil {
		return err
	}
	if e.outer, err = e.p.outer.Open(ctx, env); err != nil {
		return err
	}
	found, err := e.p.outer.Check(ctx) // decided by now
	e.slow = e.env.Slow
	if found.Label != "" {
		e.slow = max(e.slow, emulatedSlow)
	}
	return err
}

// furnish finds or makes the outer guest's further disks; own are the modules of
// its kernel, if that is not the golden image's.
func (e *engine) furnish(ctx context.Context, own string) error {
	golden, err := e.env.Image.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk of the image: %w", err)
	}
	tools, err := e.tools(ctx, own)
	if err != nil {
		return err
	}
	e.disks = []string{golden, tools}
	if e.p.setup.Inside != nil {
		if e.inside, err = e.p.setup.Inside(ctx); err != nil {
			return err
		}
		hosts, err := e.inside.Disk(ctx)
		if err != nil {
			return fmt.Errorf("disk of the image of the guest inside: %w", err)
		}
		e.disks = append(e.disks, hosts)
	}
	for n := range e.disks {
		if e.disks[n], err = filepath.Abs(e.disks[n]); err != nil {
			return err
		}
	}
	return nil
}

// emulatedSlow is how many times longer things may take in a guest that is not
// run for real.
const emulatedSlow = 10

// bootImage is what an outer guest boots from: the hosts' image with the golden
// image's kernel, so that one kernel is under every platform.
type bootImage struct {
	HostImage
	golden bench.Image
}

func (b bootImage) Kernel(ctx context.Context) (kernel, modules string, err error) {
	return b.golden.Kernel(ctx)
}

// Close implements [bench.Engine].
func (e *engine) Close(ctx context.Context) error {
	var errs []error
	if e.outer != nil {
		errs = append(errs, e.outer.Close(ctx))
	}
	for _, file := range []string{e.made, e.xen} {
		if file != "" {
			errs = append(errs, os.Remove(file))
		}
	}
	for _, image := range []HostImage{e.hosts, e.inside} {
		if image != nil {
			errs = append(errs, image.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", e.p.Name(), err)
	}
	return nil
}

// Start implements [bench.Engine].
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{name: e.p.Name(), said: &tail{}}
	if err := e.start(ctx, l, i); err != nil {
		if i.outer != nil {
			err = fmt.Errorf("%w\n%s", err, i.Log())
		}
		return nil, fmt.Errorf("start %s %s: %w", e.p.Name(), l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

func (e *engine) start(ctx context.Context, l bench.Launch, i *instance) error {
	inner, outer := e.launches(l)
	began := clock.Now()
	var err error
	if i.outer, err = e.outer.Start(ctx, outer); err != nil {
		return err
	}
	i.undo.Add(i.outer.Close)
	if i.agent, err = agent.Dial(ctx, i.outer.Stream()); err != nil {
		return fmt.Errorf("the outer guest: %w", err)
	}
	i.boot = time.Duration(i.agent.GreetedAt() - began)
	ported, ok := i.outer.(bench.Ported)
	if !ok {
		return fmt.Errorf("%s gives its instances no further ports: %w", e.p.outer.Name(), bench.ErrInvalid)
	}
	control, err := ported.Port(wire.Control)
	if err != nil {
		return err
	}
	i.control = newControl(control)
	if i.stream, err = ported.Port(wire.Stream); err != nil {
		return err
	}
	if err := i.serve(ctx); err != nil {
		return err
	}
	if err := i.control.ask(ctx, wire.Request{Op: wire.OpStart, Start: &inner}, &i.started); err != nil {
		return fmt.Errorf("in the outer guest: %w", err)
	}
	return i.place(ctx)
}

// launches divides a launch between the two. What limits the instance is put
// on the inner one, as with a container in a virtual machine; the outer one has
// the CPUs, and room beyond the inner one's memory and disk.
func (e *engine) launches(l bench.Launch) (wire.Start, bench.Launch) {
	asked := asks(e.p.inner)
	inner := wire.Start{Run: "nested", ID: "inner", Platform: e.p.inner.Name(), Shape: l.Shape, Digest: e.env.Image.Digest(), Slow: e.slow}
	inner.Shape.MemoryNodes = "" // the host's, and not the guest's
	for cpu := range l.Shape.CPUs {
		inner.CPUs = append(inner.CPUs, cpu)
	}
	outer := l
	inner.Options, outer.Options = e.p.divide(l.Options)
	beyond := e.p.beyond()
	outer.Shape = bench.Shape{CPUs: l.Shape.CPUs, CPUWeight: l.Shape.CPUWeight, MemoryNodes: l.Shape.MemoryNodes,
		Memory: l.Shape.Memory + beyond.Memory, Disk: l.Shape.Disk + beyond.Disk}
	outer.Host = &bench.Hosting{
		Disks: e.disks, Ports: []string{wire.Control, wire.Stream},
		Virtualization: asked.Virtualization, Hypervisor: e.xen,
	}
	if e.xen != "" {
		outer.Host.Control = asked.Control
	}
	return inner, outer
}

// begin mounts what the outer guest needs and becomes tare.
const begin = "set -e\n" +
	"mount -o ro LABEL=" + wire.ToolsLabel + " " + wire.Tools + "\n" +
	"mount -o ro LABEL=" + wire.GoldenLabel + " " + wire.Golden + "\n" +
	"mount --bind " + wire.Tools + "/$(test -d " + wire.Tools + "/" + ownModules + "/$(uname -r) && echo " + ownModules + " || echo modules) /lib/modules\n" +
	"exec " + wire.Tools + "/tare nested 2>&1"

// serve starts the other half, which lasts as long as the instance.
func (i *instance) serve(ctx context.Context) error {
	var err error
	i.half, err = i.agent.Start(ctx, bench.Command{Argv: []string{"/bin/sh", "-c", begin}}, i.said.add)
	if err != nil {
		return fmt.Errorf("start tare in the outer guest: %w", err)
	}
	go func() {
		out, err := i.half.Wait(context.Background())
		i.said.end(out, err)
		i.control.close(errors.New("tare in the outer guest ended: " + i.said.String()))
		i.stream.Close() // the inner agent is not heard any more
	}()
	return nil
}

// clockTrips is how many round trips tell the outer guest's clock, in each of
// two bursts; the better counts.
const clockTrips = 8

// place puts the inner launch on the host's time line.
func (i *instance) place(ctx context.Context) error {
	var probes []bench.ClockProbe
	for range 2 {
		o, err := i.agent.Probe(ctx, clockTrips)
		if err != nil {
			return fmt.Errorf("clock of the outer guest: %w", err)
		}
		probes = append(probes, bench.ClockProbe{Phase: "launch", At: o.At, Offset: o.Offset, Uncertainty: o.Uncertainty})
	}
	best := slices.MinFunc(probes, func(a, b bench.ClockProbe) int { return int(a.Uncertainty - b.Uncertainty) })
	i.launched, i.uncertain = i.started.Launched-best.Offset, best.Uncertainty
	return nil
}

package qemu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// Platform is QEMU with one of its accelerators.
type Platform struct {
	name    string
	summary string
	label   string
	accel   accel
	options []bench.Option
	trial   *vm.Trial // what decides whether the accelerator works; nil if it always does
}

// KVM is virtual machines with the host's virtualization. What the trial boot
// found out is kept in the directory state.
func KVM(state string) *Platform {
	return &Platform{name: "kvm", summary: "virtual machine: QEMU with KVM, virtio disk and network",
		accel: accelKVM, options: options(), trial: vm.QEMUTrial(state)}
}

// TCG is the same virtual machines without virtualization: every figure is
// labelled as emulated, since it says nothing about a virtual machine's cost. A
// microvm is told how fast its TSC is: without KVM's clock it has nothing to measure
// that by but a timer it can only poll, and on a busy host half of the boots hang there.
func TCG() *Platform {
	return &Platform{name: "qemu-tcg", summary: "virtual machine emulated by QEMU, for hosts without KVM",
		label: "emulated (tcg)", accel: accelTCG, options: options()}
}

// Name implements [bench.Platform].
func (p *Platform) Name() string { return p.name }

// Summary implements [bench.Platform].
func (p *Platform) Summary() string { return p.summary }

// Traits implements [bench.Platform]. How long a launch takes with KVM was not measured.
func (p *Platform) Traits() bench.Traits {
	t := bench.Traits{Launch: 10 * time.Second, Programs: append(vm.QEMUPrograms(), bench.Program{Name: "cp", Package: "coreutils"})}
	if p.trial != nil {
		t.Launch, t.Kept = 4*time.Second, vm.Kept()
		t.Nesting = &bench.Nesting{Guest: bench.MachineGuest, Program: program, Memory: vm.NestingMemory, Modules: vm.NestingModules(),
			Virtualization: true, Lacks: exclusive}
	}
	return t
}

// Options implements [bench.Platform].
func (p *Platform) Options() []bench.Option { return p.options }

// Check implements [bench.Platform]. For kvm it goes by the verdict of an
// earlier [Platform.Probe]; without one the platform counts as unavailable.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	version, err := p.programs(ctx)
	if err == nil && p.trial != nil {
		err = p.trial.Check(version)
	}
	if err != nil {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.name, err)
	}
	return bench.Availability{Version: version, Label: p.label, Caveats: []bench.Caveat{bench.Agentless}, Migrates: bench.Live, Programs: map[string]string{program: version}, Lacks: p.lacks(ctx)}, nil
}

// Probe finds out by a trial boot whether the platform works, where that is
// not known yet, and remembers it until the host boots again. It takes a second
// or two where it works and at most [vm.TrialLimit] where it does not. It returns
// nil, an error that wraps [bench.ErrUnavailable], or what kept it from trying.
func (p *Platform) Probe(ctx context.Context, e bench.Env) error {
	version, err := p.programs(ctx)
	if err == nil && p.trial != nil {
		err = p.trial.Probe(ctx, e, version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// programs looks for what every launch needs and returns QEMU's version.
func (p *Platform) programs(ctx context.Context) (version string, err error) {
	for _, need := range []struct{ program, pkg string }{
		{program, "qemu-system-x86"}, {"mkfs.ext4", "e2fsprogs"}, {"xz", "xz-utils"},
	} {
		if _, err := launch.Program(need.program); err != nil {
			return "", fmt.Errorf("%s is not installed: %w%w", need.program, bench.ErrUnavailable,
				bench.Hint("apt-get install "+need.pkg))
		}
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return "", fmt.Errorf("no tap devices: %w: %w%w", err, bench.ErrUnavailable, bench.Hint("modprobe tun"))
	}
	return vm.QEMUVersion(ctx)
}

// Open implements [bench.Platform].
func (p *Platform) Open(ctx context.Context, e bench.Env) (bench.Engine, error) {
	if err := p.Probe(ctx, e); err != nil {
		return nil, err
	}
	g := &engine{name: p.name, accel: p.accel, options: p.options, env: e, host: "/", others: &vm.Kernels{}, tsc: sync.OnceValues(tscKHz)}
	if err := g.prepare(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return g, nil
}

// prepare fetches the forms of the image and makes the initramfs.
func (g *engine) prepare(ctx context.Context) (err error) {
	if g.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	disk, err := g.env.Image.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk of the image: %w", err)
	}
	if g.root, err = filepath.Abs(disk); err != nil {
		return err
	}
	g.kernel, g.initrd, err = vm.Boot(ctx, g.env)
	return err
}

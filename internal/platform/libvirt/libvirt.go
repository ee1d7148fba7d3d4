// Package libvirt runs instances as domains of libvirt, by the virsh command and
// a libvirtd of ours: the one installed on the host, started inside the test network with
// configuration, state and sockets of its own. A user's daemon and domains are
// never spoken to. The guest is that of the drivers of QEMU, so that what differs
// from kvm and qemu-tcg is libvirt.
package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// Platform is libvirt with one of QEMU's accelerators.
type Platform struct {
	name    string
	summary string
	label   string
	domain  string    // the type of its domains
	trial   *vm.Trial // what decides whether the accelerator works; nil if it always does
	state   string
}

// KVM is domains with the host's virtualization. What libvirtd finds out about
// QEMU is kept in the directory libvirt below state.
func KVM(state string) *Platform {
	return &Platform{name: "libvirt", summary: "virtual machine: a libvirt domain with KVM",
		domain: "kvm", trial: vm.QEMUTrial(state), state: state}
}

// TCG is the same domains without virtualization, labelled as emulated.
func TCG(state string) *Platform {
	return &Platform{name: "libvirt-tcg", summary: "virtual machine: a libvirt domain emulated by QEMU",
		label: "emulated (tcg)", domain: "qemu", state: state}
}

// Name implements [bench.Platform].
func (p *Platform) Name() string { return p.name }

// Summary implements [bench.Platform].
func (p *Platform) Summary() string { return p.summary }

// Traits implements [bench.Platform]. How long a launch takes with KVM was not measured.
func (p *Platform) Traits() bench.Traits {
	t := bench.Traits{
		Launch: 10 * time.Second,
		Programs: append(vm.QEMUPrograms(), bench.Program{Name: "libvirtd", Package: "libvirt-daemon-system"},
			bench.Program{Name: "virsh", Package: "libvirt-clients"}),
		Kept: []bench.Kept{{Pattern: "libvirt/cache", Lock: "libvirt.lock", What: "libvirt's notes of what QEMU can do"}},
	}
	if p.trial != nil {
		t.Launch, t.Kept = 0, append(t.Kept, vm.Kept()...)
		t.Nesting = &bench.Nesting{Guest: bench.MachineGuest, Program: "libvirtd", Memory: vm.NestingMemory, Modules: vm.NestingModules(),
			Virtualization: true, Prepare: prepare}
	}
	return t
}

// prepare makes a directory as a host's boot does (tmpfiles.d).
func prepare(context.Context, bench.Runner) error { return os.MkdirAll(dirs["run"], 0o755) }

// The names of the options.
const (
	optMachine = "machine"
	optBus     = "bus"
	optDisk    = "disk"
	optCache   = "cache"
)

// Options implements [bench.Platform].
func (*Platform) Options() []bench.Option {
	option := func(name, doc string, values ...string) bench.Option {
		return bench.Option{Name: name, Values: values, Default: values[0], Doc: doc}
	}
	return []bench.Option{
		option(optMachine, "the machine: q35 is a PC with PCI Express, pc the older one", "q35", "pc"),
		option(optBus, "how the scratch disk is attached", busVirtio, vm.BusSCSI),
		option(optDisk, "the format of the scratch disk's file", vm.Raw, vm.Qcow2),
		option(optCache, "the scratch disk and the host's page cache: none and directsync go around it",
			"none", "writethrough", "writeback", "directsync", "unsafe"),
	}
}

const busVirtio = "virtio"

// programs are what every run needs, with their packages.
var programs = []struct{ name, pkg string }{
	{"libvirtd", "libvirt-daemon-system"}, {"virsh", "libvirt-clients"}, {vm.QEMU, "qemu-system-x86"}, {"qemu-img", "qemu-utils"}, {"mkfs.ext4", "e2fsprogs"},
}

// dirs are the directories libvirtd insists on, by what ours has in their place.
var dirs = map[string]string{
	"etc": "/etc/libvirt", "run": "/run/libvirt", "lib": "/var/lib/libvirt", "cache": "/var/cache/libvirt", "log": "/var/log/libvirt",
}

var libvirtVersion = regexp.MustCompile(`(?m)^(\d+\.\d+\.\d+)\s*$`)

// Check implements [bench.Platform]; it starts no daemon.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	a, err := p.check(ctx)
	if err != nil {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.name, err)
	}
	return a, nil
}

func (p *Platform) check(ctx context.Context) (bench.Availability, error) {
	unavailable := func(why any, hint string) (bench.Availability, error) {
		return bench.Availability{}, fmt.Errorf("%v: %w%w", why, bench.ErrUnavailable, bench.Hint(hint))
	}
	if os.Geteuid() != 0 {
		return unavailable("a daemon needs root", "run as root")
	}
	for _, need := range programs {
		if _, err := launch.Program(need.name); err != nil {
			return unavailable(need.name+" is not installed", "apt-get install "+need.pkg)
		}
	}
	for name, dir := range dirs {
		if name == "run" {
			continue // only a service makes it, at boot: it is provided
		}
		if _, err := os.Stat(dir); err != nil {
			return unavailable(fmt.Sprintf("libvirt is not set up: %v", err), "start libvirtd once, or mkdir -p "+dir)
		}
	}
	out, err := launch.Output(ctx, "virsh", "--version")
	if err != nil {
		return unavailable(err, "")
	}
	m := libvirtVersion.FindSubmatch(out)
	if m == nil {
		return unavailable(fmt.Sprintf("virsh --version: no version in %.100q", out), "")
	}
	qemu, err := vm.QEMUVersion(ctx)
	if err == nil && p.trial != nil {
		err = p.trial.Check(qemu)
	}
	version := string(m[1])
	return bench.Availability{Version: version, Label: p.label,
		Programs: map[string]string{"libvirt": version, vm.QEMU: qemu}}, err
}

// Probe finds out by a trial boot whether KVM works, where that is not known
// yet; see [vm.Trial].
func (p *Platform) Probe(ctx context.Context, e bench.Env) error {
	_, err := p.check(ctx)
	if p.trial != nil && errors.Is(err, vm.ErrNotTried) {
		version, verr := vm.QEMUVersion(ctx)
		if verr != nil {
			return fmt.Errorf("%s: %w", p.name, verr)
		}
		err = p.trial.Probe(ctx, e, version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// keep is the directory of what is kept between runs.
func (p *Platform) keep() string { return filepath.Join(p.state, "libvirt") }

// Open implements [bench.Platform]: it starts the daemon.
func (p *Platform) Open(ctx context.Context, e bench.Env) (bench.Engine, error) {
	if err := p.Probe(ctx, e); err != nil {
		return nil, err
	}
	g := &engine{platform: p, env: e}
	if err := g.open(ctx, p.keep()); err != nil {
		return nil, fmt.Errorf("open %s: %w", p.name, g.undo.Fail(ctx, err))
	}
	return g, nil
}

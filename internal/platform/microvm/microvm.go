// Package microvm runs virtual machines by monitors that are one program in the
// foreground and start an ELF kernel by themselves: no firmware, no boot loader, no
// emulated PC. A monitor itself is a value, see [Monitor]: it says its version and
// its command line.
//
// The guest is that of the other virtual machines: the image's kernel, unpacked,
// and the agent as the first process. The root is the image's disk, shared and
// read-only, as these monitors cannot keep a guest's writes apart; the guest
// puts a layer over it, on a sparse disk of the instance's own. The scratch disk is a
// raw file on the disk under test. The one serial line is the kernel's console until
// the agent takes it (package serial).
//
// # Limits
//
// As for QEMU: guest memory and virtual CPUs are the shape's by construction, and the
// monitor is born in a control group with the instance's CPUs, quota and weight, and
// [vm.Allowance] of memory beside the guest's.
package microvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// Monitor is a program that runs one virtual machine.
type Monitor struct {
	Name    string // of the platform
	Program string
	Summary string
	Install bench.Hint
	// Banner is what stands before the version in what it prints for --version, at
	// the beginning of a line. Oldest is the first version that will do.
	Banner  string
	Oldest  Version
	Options []bench.Option
	Caveats []bench.Caveat
	// Threads are what it calls its own.
	Threads bench.Threads
	// Lacks are the variants that the host, or that version, cannot run; may be nil.
	Lacks func(Version) []bench.Lack
	// Refuse finds a reason why the machine cannot be; may be nil.
	Refuse func(Machine) error
	// Argv writes what files the program reads in the machine's directory and
	// returns its command line.
	Argv func(Machine) ([]string, error)
	// Line is the socket that the program makes for the serial line, in its
	// directory; "" if the line is its standard input and output. In a trial it is these.
	Line string
}

// Machine is one virtual machine as the monitor is told of it, all paths
// absolute. In a trial, which shows whether KVM runs a guest at all, it has neither
// disks nor network.
type Machine struct {
	ID      string
	Dir     string // its own, where the program is started
	Version Version
	Options map[string]string
	CPUs    int
	CPUSet  []int // of the host, never empty
	Memory  bench.Bytes

	Kernel, Initrd       string
	Root, Scratch, Layer string // raw disks: /dev/vda, read-only, /dev/vdb and /dev/vdc
	Tap, MAC             string
	Guest                vm.Guest // what the agent is told, but for Bus and Restart

	// Own: it boots a kernel of the user's own by the command line Append. It has a network, of disks
	// only its own Disk, if any, and maybe no Initrd.
	Own    bool
	Append string
	Disk   string // raw, the instance's own copy; "" for none
}

// Trial reports whether the machine is that of a trial.
func (m Machine) Trial() bool { return m.Root == "" && !m.Own }

// Cmdline is the kernel's command line with the monitor's own words.
func (m Machine) Cmdline(words string) string {
	if m.Own {
		return m.Append
	}
	line := "console=ttyS0 panic=-1"
	if words != "" {
		line += " " + words
	}
	if m.Trial() {
		return line
	}
	return line + " quiet " + m.Guest.Args()
}

// Platform implements [bench.Platform] for one monitor.
type Platform struct {
	// Trial decides whether KVM runs a guest; nil if that is known.
	Trial   *vm.Trial
	monitor Monitor
}

// New returns the platform of the monitor. What the trial boot found out is kept
// in the directory state.
func New(m Monitor, state string) *Platform {
	p := &Platform{monitor: m}
	p.Trial = &vm.Trial{Monitor: m.Name, State: state, Argv: p.trialArgv}
	return p
}

// Name is the monitor's.
func (p *Platform) Name() string { return p.monitor.Name }

// Summary is one line for people.
func (p *Platform) Summary() string { return p.monitor.Summary }

// Traits are the same for all monitors; no package has one.
func (p *Platform) Traits() bench.Traits {
	return bench.Traits{Programs: vm.Programs(), Kept: vm.Kept()}
}

// Options are the monitor's.
func (p *Platform) Options() []bench.Option { return p.monitor.Options }

// Check asks the monitor for its version, and goes by the verdict of an earlier
// [Platform.Probe]; without one the platform counts as unavailable.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	version, err := p.programs(ctx)
	if err == nil && p.Trial != nil {
		err = p.Trial.Check(version.Text)
	}
	if err != nil {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.monitor.Name, err)
	}
	a := bench.Availability{Version: version.Text, Caveats: append(slices.Clone(p.monitor.Caveats), bench.Agentless),
		Programs: map[string]string{p.monitor.Program: version.Text}}
	if p.monitor.Lacks != nil {
		a.Lacks = p.monitor.Lacks(version)
	}
	return a, nil
}

// Probe finds out by a trial boot whether KVM works with this monitor, where that is
// not known yet; see [vm.Trial].
func (p *Platform) Probe(ctx context.Context, e bench.Env) error {
	version, err := p.programs(ctx)
	if err == nil && p.Trial != nil {
		err = p.Trial.Probe(ctx, e, version.Text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.monitor.Name, err)
	}
	return nil
}

// programs looks for what every launch needs and returns the monitor's version.
func (p *Platform) programs(ctx context.Context) (Version, error) {
	unavailable := func(why any, hint bench.Hint) (Version, error) {
		return Version{}, fmt.Errorf("%v: %w%w", why, bench.ErrUnavailable, hint)
	}
	if runtime.GOARCH != "amd64" {
		return unavailable("this driver knows x86-64 only", "")
	}
	for _, need := range []struct {
		program string
		install bench.Hint
	}{
		{p.monitor.Program, p.monitor.Install}, {"mkfs.ext4", "apt-get install e2fsprogs"}, {"xz", "apt-get install xz-utils"},
	} {
		if _, err := launch.Program(need.program); err != nil {
			return unavailable(err, need.install)
		}
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return unavailable(fmt.Sprintf("no tap devices: %v", err), "modprobe tun")
	}
	out, err := launch.Output(ctx, p.monitor.Program, "--version")
	if err != nil {
		return unavailable(err, p.monitor.Install)
	}
	version, err := parseVersion(p.monitor.Banner, string(out))
	if err != nil {
		return unavailable(err, p.monitor.Install)
	}
	if !version.AtLeast(p.monitor.Oldest) {
		return unavailable(fmt.Sprintf("version %s is too old: the first that will do is %s", version.Text, p.monitor.Oldest.Text), p.monitor.Install)
	}
	return version, nil
}

// trialArgv is the command line of a trial.
func (p *Platform) trialArgv(ctx context.Context, e bench.Env, id, kernel, initrd string) ([]string, error) {
	version, err := p.programs(ctx)
	if err != nil {
		return nil, err
	}
	if kernel, err = vm.Vmlinux(ctx, e.Dir, kernel); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Join(e.Dir, id))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("directory of the trial: %w", err)
	}
	options := map[string]string{}
	for _, o := range p.monitor.Options {
		options[o.Name] = o.Default
	}
	return p.monitor.Argv(Machine{
		ID: id, Dir: dir, Version: version, Options: options, CPUs: 1, CPUSet: []int{0}, Memory: 256 * bench.MiB,
		Kernel: kernel, Initrd: initrd,
	})
}

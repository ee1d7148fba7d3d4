package bench

import (
	"context"
	"path"
	"time"
)

// Traits are what other parts have to know of a platform, whatever the host. The
// zero is right for one that needs no program, keeps nothing and runs inside no other.
type Traits struct {
	// Launch is what an instance costs in time besides its workload, from launch
	// to close: a median of some hundred on a host of 2 CPUs, 0 if it was not
	// measured. Nothing but the estimate of a plan depends on it.
	Launch time.Duration
	// Programs are those of the host that it runs, or that options of it need.
	Programs []Program
	// Kept is what stays of it in the state directory from one run to the next.
	Kept []Kept
	// Trial: whether a host runs it shows only when it has started there once.
	Trial *TrialStart
	// Nesting is what it asks of an outer guest; nil if it cannot run inside another platform.
	Nesting *Nesting
}

// Program is a program of the host.
type Program struct {
	// Name is looked up in PATH.
	Name string
	// Package is the Debian or Ubuntu package that has it. Where releases differ it
	// is several, with | between them: the first that the release knows.
	Package string
	// Args make it print its version and end; nil is --version.
	Args []string
	// Mute: it tells no version.
	Mute bool
	// Optional: the platform does without, or no package has it everywhere.
	Optional bool
	// For is the value of an option that needs it; "" is the platform itself.
	For string
}

// Kept is files or directories below the state directory that may be removed: the next
// run that needs them makes them anew.
type Kept struct {
	// Pattern is their name, as of [path/filepath.Match].
	Pattern string
	// Lock is the file beside them that whoever uses them locks, "" for none. Without
	// it they are taken for somebody else's.
	Lock string
	What string // one line for people
}

// TrialStart is a start that decides.
type TrialStart struct {
	// Option is the one whose values differ in what they need of the host, "" for none.
	Option string
}

// OuterGuest is what the outer guest of a nesting has to be.
type OuterGuest int

// Outer guests, from what any virtual machine is to what few are.
const (
	// AnyGuest: nothing of its CPU or of its hypervisor is asked.
	AnyGuest OuterGuest = iota
	// MachineGuest is a whole machine of QEMU's.
	MachineGuest
	// ControlGuest is the control domain of a hypervisor that boots before it.
	ControlGuest
)

// Nesting is what a platform asks of an outer guest in which it runs.
type Nesting struct {
	Guest OuterGuest
	// Program is the one in the outer guest's image whose version is the
	// platform's; "" is the platform's name.
	Program string
	// Memory is what the outer guest has beyond the instance's: for its kernel, the
	// golden image's pages in its cache, and what serves the instance; 0 is
	// [NestingMemory]. Control of it, in a ControlGuest, is the control domain's.
	Memory, Control Bytes
	// Virtualization: it runs virtual machines by the guest's CPU.
	Virtualization bool
	// Modules of the guest's kernel that it needs, beside those of file systems
	// and firewall rules, which the kernel loads itself.
	Modules []string
	// Options are the programs that options of it need in the outer guest's image, by option=value.
	Options map[string]string
	// Carry names programs that come from the host, as the image's are none or too old.
	Carry []string
	// Lacks are the variants that run in no outer guest.
	Lacks []Lack
	// Prepare does what the boot of a host does for the platform, before it is
	// checked; nil is nothing. The guest is thrown away, so nothing is taken back.
	Prepare func(ctx context.Context, run Runner) error
	// Seat puts the golden image, mounted at golden, where the opened platform could
	// only copy it to, or could not take it from; nil is nothing.
	Seat func(ctx context.Context, run Runner, e Env, golden string) error
}

// NestingMemory is the usual [Nesting.Memory].
const NestingMemory = 256 * MiB

// Runner runs a program of an outer guest; what it prints is part of the error.
type Runner func(ctx context.Context, program string, args ...string) error

// Threads are the names of a monitor's threads as in /proc/PID/task/TID/comm, of
// which Linux keeps 15 bytes, as patterns of [path.Match].
type Threads struct {
	// VCPU run the guest's code, and under emulation translate it.
	VCPU []string
	// IO move the guest's data: I/O threads, the workers of a pool that does blocking I/O.
	IO []string
}

// kernelThreads are what the kernel starts in a monitor to move data
// (io_uring/io-wq.c, kernel/vhost_task.c).
var kernelThreads = []string{"iou-*", "vhost-*"} // "iou-wrk-4711"

// Part says which part the thread of that name plays: "vcpu", "iothread", or "vmm"
// for everything else, such as the main loop and timers.
func (t *Threads) Part(name string) string {
	var known Threads
	if t != nil {
		known = *t
	}
	switch {
	case matches(known.VCPU, name):
		return "vcpu"
	case matches(known.IO, name), matches(kernelThreads, name):
		return "iothread"
	}
	return "vmm"
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok { // a bad pattern matches nothing
			return true
		}
	}
	return false
}

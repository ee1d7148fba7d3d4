package usage

import (
	"math"
	"testing"

	"tare/internal/bench"
)

// nestedAt is a nested container with a shim, in an outer guest that was busy
// for so many cores, of the 1.0 its vCPU thread ran.
func nestedAt(outer float64) [][]bench.Sample {
	return [][]bench.Sample{
		hostAt(1.3),
		agentAt("subject", 0.61), // the tree of processes: not what is charged
		counters(bench.Inner, "subject", "layer", map[string]float64{bench.ColCPUBusy: 0.6, bench.CPUOf("shim"): 0.05, bench.CPUOf("daemon"): 0.02,
			bench.ColMemUsed: 30e6, bench.ColMemCache: 20e6, bench.ColMemRSS: 80e6, bench.ColDiskRead: 2e6, bench.ColDiskWrite: 1e5}, every...),
		counters(bench.Outer, "subject", "agent", map[string]float64{bench.ColCPUBusy: outer, bench.ColMemUsed: 120e6}, every...),
		helpersAt("subject", 700e6, map[string]float64{"vcpu": 1.0, "iothread": 0.1, "vmm": 0.05}),
		cgroupAt("subject", 1.15),
	}
}

func nestedScope(inner bench.Scope) *bench.Scope {
	return &bench.Scope{OwnKernel: true, Helpers: process("vmm"), Inner: &inner}
}

// Every level of a nesting is charged with its own, and all together with what
// the host spent.
func TestShareOfANesting(t *testing.T) {
	scope := nestedScope(bench.Scope{Helpers: process("shim"), Shared: process("daemon")})
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)}, nestedAt(0.8)...)
	wantShare(t, s, map[string]float64{"guest_cpu": 0.6, "layer_cpu": 0.55, "guest_mem_bytes": 30e6, "layer_mem_bytes": 650e6, "guest_disk_read_bytes_per_s": 2e6})
	for part, v := range map[string]float64{"inner shim": 0.05, "inner daemon": 0.02, "outer guest": 0.13, "vcpu": 0.2, "iothread": 0.1, "vmm": 0.05} {
		approx(t, part, s.Parts[part], v)
	}
}

// An outer guest that is not told of steal is charged with what its vCPU
// thread ran, and so is everything in it.
func TestShareOfANestingThatClaimsTooMuch(t *testing.T) {
	scope := nestedScope(bench.Scope{Helpers: process("shim"), Shared: process("daemon")})
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)}, nestedAt(1.4)...)
	wantShare(t, s, map[string]float64{"guest_cpu": 0.6 / 1.4, "layer_cpu": 1.15 - 0.6/1.4})
	approx(t, "outer guest", s.Parts["outer guest"], 0.73/1.4)
	approx(t, "inner shim", s.Parts["inner shim"], 0.05/1.4)
	approx(t, "vcpu", s.Parts["vcpu"], 0)
	if len(s.Notes) != 1 {
		t.Errorf("notes %q", s.Notes)
	}
}

// A virtual machine in a virtual machine: the guest is the inner one by its own
// kernel, and what its vCPU thread ran beyond is the inner monitor's.
func TestShareOfAMachineInAMachine(t *testing.T) {
	scope := nestedScope(bench.Scope{OwnKernel: true, Helpers: process("vmm")})
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)},
		hostAt(1.3), agentAt("subject", 0.4),
		counters(bench.Inner, "subject", "layer", map[string]float64{bench.CPUOf("vcpu"): 0.5, bench.CPUOf("iothread"): 0.03, bench.CPUOf("vmm"): 0.02}, every...),
		counters(bench.Outer, "subject", "agent", map[string]float64{bench.ColCPUBusy: 0.7}, every...),
		helpersAt("subject", 700e6, map[string]float64{"vcpu": 1.0, "iothread": 0.1, "vmm": 0.05}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.4, "layer_cpu": 0.75})
	for part, v := range map[string]float64{"inner vcpu": 0.1, "inner iothread": 0.03, "inner vmm": 0.02, "outer guest": 0.15, "vcpu": 0.3} {
		approx(t, part, s.Parts[part], v)
	}
}

// Without the outer guest's own reading the layer is not known.
func TestShareOfANestingUnread(t *testing.T) {
	samples := nestedAt(0.8)
	samples = append(samples[:3:3], samples[4:]...)
	s := shareOf([]bench.ActorOutcome{subject("subject", nestedScope(bench.Scope{Helpers: process("shim"), Shared: process("daemon")}))}, samples...)
	wantShare(t, s, map[string]float64{"guest_cpu": 0.6, "layer_cpu": math.NaN()})
}

// gVisor in an outer guest: its control group there counts its programs, with the
// processes of its own inside, as on a host.
func TestShareOfASandboxInAMachine(t *testing.T) {
	inside := []bench.Process{{PID: 1, Part: "sandbox", Inside: true}}
	scope := nestedScope(bench.Scope{OwnKernel: true, Helpers: inside})
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)},
		hostAt(1.3), agentAt("subject", 0.1), // not to be relied on
		counters(bench.Inner, "subject", "layer", map[string]float64{bench.ColCPUBusy: 0.6, bench.CPUOf("sandbox"): 0.2, bench.ColMemUsed: 30e6, bench.ColMemCache: 0}, every...),
		counters(bench.Outer, "subject", "agent", map[string]float64{bench.ColCPUBusy: 0.7}, every...),
		helpersAt("subject", 700e6, map[string]float64{"vcpu": 1.0, "iothread": 0.1, "vmm": 0.05}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.4, "layer_cpu": 0.75, "guest_mem_bytes": 30e6})
	for part, v := range map[string]float64{"inner sandbox": 0.2, "outer guest": 0.1, "vcpu": 0.3} {
		approx(t, part, s.Parts[part], v)
	}
}

// User-mode Linux in an outer guest: what its control group used there beyond what
// it accounts for itself is its kernel's.
func TestShareOfAUserModeKernelInAMachine(t *testing.T) {
	scope := nestedScope(bench.Scope{OwnKernel: true, Helpers: process("kernel")})
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)},
		hostAt(1.3), agentAt("subject", 0.3),
		counters(bench.Inner, "subject", "layer", map[string]float64{bench.ColCPUBusy: 0.5, bench.CPUOf("kernel"): 0.45}, every...),
		counters(bench.Outer, "subject", "agent", map[string]float64{bench.ColCPUBusy: 0.7}, every...),
		helpersAt("subject", 700e6, map[string]float64{"vcpu": 1.0, "iothread": 0.1, "vmm": 0.05}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.3, "layer_cpu": 0.85})
	for part, v := range map[string]float64{"inner kernel": 0.2, "outer guest": 0.2, "vcpu": 0.3} {
		approx(t, part, s.Parts[part], v)
	}
}

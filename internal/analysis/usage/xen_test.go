package usage

import (
	"testing"

	"tare/internal/bench"
)

// A domain in an outer guest that runs Xen: the control domain's part and the
// domain's are the hypervisor's account, whatever the outer guest's kernel claims.
func TestShareOfADomainInAMachine(t *testing.T) {
	scope := nestedScope(bench.Scope{OwnKernel: true, Domain: 3, Helpers: process("xl"), Shared: process("xenstored")})
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)},
		hostAt(1.3), agentAt("subject", 0.4),
		counters(bench.Inner, "subject", "layer", map[string]float64{bench.CPUOf("vcpu"): 0.5, bench.CPUOf("dom0"): 0.2,
			bench.CPUOf("xl"): 0.01, bench.CPUOf("xenstored"): 0.03}, every...),
		counters(bench.Outer, "subject", "agent", map[string]float64{bench.ColCPUBusy: 0.9}, every...),
		helpersAt("subject", 700e6, map[string]float64{"vcpu": 1.0, "iothread": 0.1, "vmm": 0.05}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.4, "layer_cpu": 0.75})
	for part, v := range map[string]float64{"inner vcpu": 0.1, "inner dom0": 0.16, "inner xl": 0.01, "inner xenstored": 0.03, "vcpu": 0.3, "iothread": 0.1, "vmm": 0.05} {
		approx(t, part, s.Parts[part], v)
	}
}

// On a host that is the control domain the other domains' time is beyond its
// own counters, and nothing of it is taken for the rest of the host.
func TestShareOfADomain(t *testing.T) {
	scope := &bench.Scope{OwnKernel: true, Domain: 3, Helpers: process("xl")}
	s := shareOf([]bench.ActorOutcome{subject("subject", scope)},
		hostAt(0.3), agentAt("subject", 0.8),
		counters(bench.Layer, "subject", bench.MeterDomain, map[string]float64{bench.CPUOf("vcpu"): 0.9, bench.CPUOf("dom0"): 0.31}, every...),
		helpersAt("subject", 10e6, map[string]float64{"xl": 0.02}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.8, "layer_cpu": 0.12, "busy_cpu": 1.2, "layer_mem_bytes": 10e6})
	approx(t, "vcpu", s.Parts["vcpu"], 0.1)
}

// A container in a domain in a machine: what the domain ran is divided among the
// container, its runtime and the rest of the domain.
func TestShareOfAContainerInADomain(t *testing.T) {
	inner := bench.Scope{OwnKernel: true, Domain: 3, Helpers: process("xl"), Inner: &bench.Scope{Helpers: process("runtime")}}
	s := shareOf([]bench.ActorOutcome{subject("subject", nestedScope(inner))},
		hostAt(1.3), agentAt("subject", 0.31),
		counters(bench.Inner, "subject", "layer", map[string]float64{bench.ColCPUBusy: 0.3, bench.CPUOf("runtime"): 0.02, bench.ColMemUsed: 30e6, bench.ColMemCache: 20e6,
			bench.CPUOf(bench.PartBetween): 0.4, bench.CPUOf("vcpu"): 0.5, bench.CPUOf("dom0"): 0.2, bench.CPUOf("xl"): 0.01}, every...),
		counters(bench.Outer, "subject", "agent", map[string]float64{bench.ColCPUBusy: 0.9}, every...),
		helpersAt("subject", 700e6, map[string]float64{"vcpu": 1.0, "iothread": 0.1, "vmm": 0.05}))
	wantShare(t, s, map[string]float64{"guest_cpu": 0.3, "layer_cpu": 0.85, "guest_mem_bytes": 30e6})
	for part, v := range map[string]float64{"innermost runtime": 0.02, "inner guest": 0.08, "inner vcpu": 0.1, "inner dom0": 0.19, "inner xl": 0.01,
		"vcpu": 0.3, "iothread": 0.1, "vmm": 0.05} {
		approx(t, part, s.Parts[part], v)
	}
}

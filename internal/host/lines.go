package host

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Line is one printed fact.
type Line struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Caveat says how the fact limits the conclusions, "" if it does not.
	Caveat string `json:"caveat,omitempty"`
}

// Lines returns the facts in display order.
func (f *Facts) Lines() []Line {
	lines := []Line{
		{"system", f.OS + ", Linux " + f.Kernel + ", " + f.Arch, ""},
		{"machine", f.machine(), f.machineCaveat()},
		{"processor", f.CPUModel, ""},
		{"CPUs", f.cpus(), f.cpusCaveat()},
		{"SMT", f.SMT, f.smtCaveat()},
		{"caches", f.caches(), when(f.LLC == 0, "cache sizes are not exposed: memory workloads cannot tell whether their arrays exceed the cache")},
		{"memory", f.Memory.String(), ""},
		{"swap", f.swap(), when(f.Swap > 0, "swap is on: memory beyond a limit may be swapped out instead of refused")},
		{"huge pages", f.THP, when(f.THP == "always", "transparent huge pages are always used: the kernel's work on them adds noise and favours platforms unequally")},
		{"samepage merging", f.KSM, when(f.KSM == "on", "samepage merging is on: it costs CPU time and makes virtual machines look smaller")},
		{"address space layout", cmp.Or(f.ASLR, notExposed), when(f.ASLR == fixedLayout, "programs lie at the same addresses at each start: what one layout does to them is in every launch alike, and no interval holds it")},
		{"governor", f.Governor, f.governorCaveat()},
		{"turbo", f.Turbo, when(f.Turbo == "on", "turbo is on: the clock depends on how many CPUs are busy and how warm they are")},
		{"clock source", f.ClockSource, f.clockCaveat()},
		{"mitigations", f.mitigations(), ""},
		{"cgroups", f.cgroups(), f.cgroupCaveat()},
		{"pressure (PSI)", yesNo(f.PSI, "read", "not available"), when(!f.PSI, "no pressure stall information: waiting for CPU, memory and disk is not seen")},
		{"disk", f.disk(), f.diskCaveat()},
		{"user", yesNo(f.Root, "root", "not root"), when(!f.Root, "not root: no platform can be measured")},
		{"capabilities", f.capabilities(), f.capabilityCaveat()},
		{"open files", f.openFiles(), ""},
	}
	for _, text := range f.Unread {
		lines = append(lines, Line{"not understood", text, "could not be read: " + text})
	}
	return lines
}

func when(holds bool, caveat string) string {
	if holds {
		return caveat
	}
	return ""
}

func yesNo(holds bool, yes, no string) string {
	if holds {
		return yes
	}
	return no
}

func (f *Facts) machine() string {
	s := "bare metal"
	if f.Hypervisor != none {
		s = "virtual machine under " + f.Hypervisor
	}
	if f.Container {
		s += ", in a container"
	}
	if f.Product != "" {
		s += " (" + f.Product + ")"
	}
	return s
}

func (f *Facts) machineCaveat() string {
	var parts []string
	if f.Hypervisor != none {
		parts = append(parts, "this host is itself a virtual machine ("+f.Hypervisor+
			"): stolen time and neighbours on the outer host add noise, and virtual machines here are nested")
	}
	if f.Container {
		parts = append(parts, "Tare runs inside a container: what it sees of the host may be partial")
	}
	return strings.Join(parts, "; ")
}

func (f *Facts) cpus() string {
	s := fmt.Sprintf("%d (%s, %s, %s)", f.CPUs,
		figure.Count(f.Sockets, "socket"), figure.Count(f.Cores, "core"), figure.Count(f.NUMANodes, "NUMA node"))
	if len(f.Usable) != f.CPUs {
		s += ", usable " + formatCPUs(f.Usable)
	}
	if len(f.Isolated) > 0 {
		s += ", isolated " + formatCPUs(f.Isolated)
	}
	return s
}

// apart is the number of CPUs needed to separate observer, peer, subject and neighbour.
const apart = 4

func (f *Facts) cpusCaveat() string {
	var parts []string
	if n := len(f.Usable); n < apart {
		parts = append(parts, fmt.Sprintf("only %s: observer, peer and subject share %s",
			figure.Count(n, "usable CPU"), yesNo(n == 1, "it", "them")))
	}
	if f.NUMANodes > 1 {
		parts = append(parts, fmt.Sprintf("%d NUMA nodes: where memory lies changes how fast it is", f.NUMANodes))
	}
	return strings.Join(parts, "; ")
}

func (f *Facts) smtCaveat() string {
	return when(f.SMT == "on", "SMT is on: two busy CPUs of one core slow each other down")
}

func (f *Facts) caches() string {
	if len(f.Caches) == 0 {
		return notExposed
	}
	var parts []string
	for name, size := range f.Caches {
		parts = append(parts, name+" "+size.String())
	}
	slices.Sort(parts)
	if n := len(f.LLCGroups); n > 1 {
		parts = append(parts, fmt.Sprintf("the last level %d times", n))
	}
	return strings.Join(parts, ", ")
}

func (f *Facts) swap() string {
	if f.Swap == 0 {
		return "none"
	}
	return f.Swap.String()
}

func (f *Facts) governorCaveat() string {
	switch f.Governor {
	case "performance":
		return ""
	case notExposed:
		return "governor not exposed: changes of the clock frequency cannot be seen or prevented from here"
	}
	return "governor " + f.Governor + ": the clock follows the load, so short and light work runs slower; performance is steadier"
}

// steadyClocks are clock sources that can be read without a system call.
var steadyClocks = []string{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}

func (f *Facts) clockCaveat() string {
	if f.ClockSource == notExposed || slices.Contains(steadyClocks, f.ClockSource) {
		return ""
	}
	return "clock source " + f.ClockSource + ": reading the time needs a system call, which programs that do it often pay for"
}

func (f *Facts) mitigations() string {
	if len(f.Mitigations) == 0 {
		return notExposed
	}
	mitigated, safe := 0, 0
	var vulnerable []string
	for name, text := range f.Mitigations {
		switch {
		case strings.HasPrefix(text, "Not affected"):
			safe++
		case strings.HasPrefix(text, "Mitigation"), strings.HasPrefix(text, "KVM: Mitigation"):
			mitigated++
		default:
			vulnerable = append(vulnerable, name)
		}
	}
	slices.Sort(vulnerable)
	s := fmt.Sprintf("%d mitigated, %d not affected, %d vulnerable", mitigated, safe, len(vulnerable))
	if len(vulnerable) > 0 {
		s += " (" + strings.Join(vulnerable, ", ") + ")"
	}
	return s
}

func (f *Facts) cgroups() string {
	if len(f.Controllers) == 0 {
		return f.Cgroup
	}
	return f.Cgroup + ": " + strings.Join(f.Controllers, ", ")
}

func (f *Facts) cgroupCaveat() string {
	if f.Cgroup == none {
		return "no control groups are mounted: no limit can be enforced and no instance accounted for"
	}
	var missing []string
	for _, c := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(f.Controllers, c) {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		return "control groups lack " + strings.Join(missing, ", ") + ": such limits cannot be enforced"
	}
	return ""
}

func (f *Facts) disk() string {
	s := f.Filesystem
	if f.Disk != "" {
		s += ", " + f.Disk
	}
	return s + ", " + f.DiskFree.String() + " free"
}

// littleDisk is too little space for an image, its forms and a run's scratch space.
const littleDisk = 4 * bench.GiB

func (f *Facts) diskCaveat() string {
	fstype, _, _ := strings.Cut(f.Filesystem, " ")
	switch {
	case fstype == "tmpfs" || fstype == "ramfs":
		return "the state directory is in memory: disk workloads would measure memory"
	case fstype == "overlay" || fstype == "aufs":
		return "the state directory is on an overlay: disk workloads measure the overlay too, and containers cannot put theirs on it"
	case slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph"}, fstype) || strings.HasPrefix(fstype, "fuse"):
		return "the state directory is on a network or shared file system (" + fstype + "): disk workloads measure that"
	case f.DiskFree < littleDisk:
		return "only " + f.DiskFree.String() + " of disk are free: image and scratch space may not fit"
	}
	return ""
}

func (f *Facts) capabilities() string {
	switch n := len(f.MissingCaps); {
	case n == 0:
		return "all"
	case n > 8:
		return fmt.Sprintf("%d missing", n)
	}
	return "without " + strings.Join(f.MissingCaps, ", ")
}

// lacks lists the effects of missing capabilities.
var lacks = []struct{ name, effect string }{
	{"CAP_SYS_ADMIN", "no namespace, mount or control group can be made"},
	{"CAP_NET_ADMIN", "no bridge or tap can be made"},
	{"CAP_SYS_CHROOT", "native cannot run the image"},
	{"CAP_SYS_RESOURCE", "limits such as that on open files cannot be raised"},
	{"CAP_SYS_NICE", "other processes' priority and CPUs cannot be set"},
	{"CAP_SYS_PTRACE", "other users' processes cannot be read"},
	{"CAP_MKNOD", "no device can be made"},
	{"CAP_IPC_LOCK", "memory cannot be locked"},
}

func (f *Facts) capabilityCaveat() string {
	if !f.Root {
		return "" // reported already
	}
	var parts []string
	for _, l := range lacks {
		if slices.Contains(f.MissingCaps, l.name) {
			parts = append(parts, l.name+" missing: "+l.effect)
		}
	}
	return strings.Join(parts, "; ")
}

func (f *Facts) openFiles() string {
	if f.NoFile == math.MaxUint64 {
		return "no limit"
	}
	return fmt.Sprintf("at most %d", f.NoFile)
}

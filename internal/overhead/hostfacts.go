package overhead

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host"
)

// hostFacts lists what of the host matters to the numbers, in the order to show.
func hostFacts(h *host.Facts) []Fact {
	var out []Fact
	add := func(name, value, caveat string) {
		if value != "" {
			out = append(out, Fact{name, value, caveat})
		}
	}
	when := func(yes bool, text string) string {
		if yes {
			return text
		}
		return ""
	}
	known := func(v string) bool {
		return v != "" && v != "none" && v != "off" && v != "not exposed" && v != "not supported"
	}
	add("operating system", h.OS, "")
	add("kernel", strings.TrimSpace(h.Kernel+" "+h.Arch), "")
	add("processor", h.CPUModel, "")
	add("CPUs", cpus(h), when(h.CPUs > 0 && h.CPUs < 4, "too few to keep subject, peer and observer apart"))
	add("sockets, NUMA nodes", fmt.Sprintf("%d, %d", h.Sockets, h.NUMANodes), when(h.NUMANodes > 1, "memory may be far from the CPU that uses it"))
	add("simultaneous multithreading", h.SMT, when(h.SMT == "on", "two CPUs share a core: neighbours disturb each other"))
	var caches []string
	for _, k := range slices.Sorted(maps.Keys(h.Caches)) {
		caches = append(caches, k+" "+h.Caches[k].String())
	}
	add("caches", strings.Join(caches, ", "), "")
	add("memory", size(h.Memory), "")
	add("swap", h.Swap.String(), when(h.Swap > 0, "memory limits may spill into it"))
	add("hypervisor", h.Hypervisor, when(known(h.Hypervisor), "this host is itself a virtual machine: its CPUs can be taken away (steal)"))
	add("frequency governor", h.Governor, when(known(h.Governor) && h.Governor != "performance", "the clock rate follows the load"))
	add("turbo", h.Turbo, when(h.Turbo == "on", "the clock rate depends on temperature and on how many cores are busy"))
	add("control groups", strings.TrimSpace(h.Cgroup+" ("+strings.Join(h.Controllers, " ")+")"), "")
	add("transparent huge pages", h.THP, "")
	add("same-page merging", h.KSM, when(h.KSM == "on", "the memory of like guests is merged"))
	add("clock source", h.ClockSource, when(h.ClockSource != "" && h.ClockSource != "tsc" && h.ClockSource != "kvm-clock", "reading the clock is slow"))
	add("file system under test", h.Filesystem, "")
	var mitigated []string
	for _, k := range slices.Sorted(maps.Keys(h.Mitigations)) {
		mitigated = append(mitigated, k+": "+h.Mitigations[k])
	}
	add("mitigations", strings.Join(mitigated, "; "), "")
	add("missing capabilities", strings.Join(h.MissingCaps, ", "), when(len(h.MissingCaps) > 0, "some limits cannot be set"))
	for _, c := range h.Caveats {
		add("beware", c, "")
	}
	return out
}

func cpus(h *host.Facts) string {
	if h.CPUs == 0 {
		return ""
	}
	text := strconv.Itoa(h.CPUs) + " online"
	if n := len(h.Usable); n > 0 && n < h.CPUs {
		text += fmt.Sprintf(", %d usable", n)
	}
	return text
}

func size(b bench.Bytes) string {
	if b == 0 {
		return ""
	}
	return b.String()
}

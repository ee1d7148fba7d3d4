package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/spec"
)

// mostMemory is what a scene may have of the host's memory; 0 is unknown.
func (m *maker) mostMemory() bench.Bytes { return m.Host.Memory - m.Host.Memory/hostMemory }

// checkNodes sees that the nodes that an actor's memory is to come from have memory.
func (m *maker) checkNodes(a spec.Actor) (errs spec.Errors) {
	if len(m.Host.MemoryNodes) == 0 || a.Shape.MemoryNodes == "" {
		return nil
	}
	for _, word := range strings.Split(a.Shape.MemoryNodes, ",") {
		if node, err := strconv.Atoi(word); err != nil || !slices.Contains(m.Host.MemoryNodes, node) {
			errs = append(errs, a.Places.At("shape.memory_nodes").Errorf("%s: node %s: this host has memory on %s%w", a.Name, word,
				strings.Trim(fmt.Sprint(m.Host.MemoryNodes), "[]"), bench.Hint("lscpu lists the nodes with their CPUs")))
		}
	}
	return errs
}

// checkPool sees that what does not fit into a scene's pool of memory has
// somewhere to go, and that nobody is to swap where there is no swap space, or to have memory of a node
// that there is not.
func (m *maker) checkPool(s spec.Scene) (errs spec.Errors) {
	swap, known := m.swap(s)
	var sum bench.Bytes
	count := 0
	for _, a := range s.Actors {
		if known && swap == 0 && a.Shape.Swap > 0 {
			errs = append(errs, a.Places.At("shape.swap").Errorf("%s: %s of swap on a host without swap space%w", a.Name, a.Shape.Swap,
				bench.Hint("have some made for the scene: conditions: {swap: 2GiB}")))
		}
		if known && swap > 0 && a.Shape.Swap > swap {
			m.findings.add(s.Case(), []string{fmt.Sprintf("a limit of %s of swap limits nothing: there are %s of swap space", a.Shape.Swap, swap)})
		}
		errs = append(errs, m.checkNodes(a)...)
		if a.Role != bench.Peer {
			errs = append(errs, nestedInPool(s, a)...)
			count += a.Count
			sum += bench.Bytes(a.Count) * a.Shape.Memory
		}
	}
	if s.MemoryPool == 0 {
		return errs
	}
	at := s.Places.At("memory_pool")
	ratio := float64(sum) / float64(s.MemoryPool)
	switch {
	case known && swap > 0 && sum > s.MemoryPool+swap:
		errs = append(errs, at.Errorf("%d instances with %s together are %s times the pool of %s: more than the pool and the %s of swap space hold%w",
			count, sum, figure.Digits(ratio, 3), s.MemoryPool, swap, bench.Hint(fmt.Sprintf("make more swap space: conditions: {swap: %s}; or have fewer instances", written(sum-s.MemoryPool)))))
	case known && swap == 0 && sum > s.MemoryPool:
		m.findings.add(s.Case(), []string{fmt.Sprintf("%d instances with %s together are %s times the pool of %s, and there is no swap space: what does not fit is killed",
			count, sum, figure.Digits(ratio, 3), s.MemoryPool)})
	}
	return errs
}

// nestedInPool: what lies in the pool of a nesting is the outer guest, whose
// memory is not the shape's.
func nestedInPool(s spec.Scene, a spec.Actor) (errs spec.Errors) {
	if s.MemoryPool == 0 {
		return nil
	}
	on, at := s.Platforms.Named, s.Places.At("platforms")
	if a.Platform != nil {
		on, at = []bench.PlatformRef{*a.Platform}, a.Places.At("platform")
	}
	for _, ref := range on {
		if ref.On != nil {
			errs = append(errs, at.Errorf("%s in a scene with memory_pool: what would lie in the pool is %s, with memory of its own%w", ref, ref.On,
				bench.Hint("leave the nesting out, or memory_pool; a scene can have platforms of its own")))
		}
	}
	return errs
}

// outsidePool names platforms of a pool's actors whose memory cannot lie in it.
func (m *maker) outsidePool(s bench.Scene) (texts []string) {
	for _, a := range s.Actors {
		if s.MemoryPool > 0 && a.Role != bench.Peer && m.Available[a.Platform.Driver()].Ungrouped {
			texts = append(texts, fmt.Sprintf("the memory of %s is the hypervisor's, and not in the pool", a.Platform))
		}
	}
	return texts
}

// written is a size as a specification has it, in whole MiB, rounded up.
func written(b bench.Bytes) string {
	return fmt.Sprintf("%dMiB", (b+bench.MiB-1)/bench.MiB)
}

// swap is how much swap space a scene has: that of its condition, or what the
// host has to spare itself. What is made stands in the findings, as does what is not.
func (m *maker) swap(s spec.Scene) (size bench.Bytes, known bool) {
	control, known := m.Host.Controls[bench.CondSwap]
	value, wanted := s.Conditions[bench.CondSwap]
	if !wanted {
		return control.Own, known
	}
	size, missing, err := control.Swap(value)
	if err != nil {
		return 0, false // said of the condition
	}
	if missing == 0 {
		m.findings.add(s.Case(), []string{fmt.Sprintf("swap %s: the host's own swap space is used, of which %s are free; none is made", size, control.Own)})
	}
	return size, known
}

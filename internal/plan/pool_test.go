package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
)

func TestMemoryPool(t *testing.T) {
	none := bench.Control{Room: 10 * bench.GiB}
	own := bench.Control{Own: bench.GiB, Room: 10 * bench.GiB}
	for name, c := range map[string]struct {
		scene string
		swap  bench.Control
		says  []string // of the error
		minds string   // of the warnings
	}{
		"fits": {"memory_pool: 1GiB, load: each, alike: 2", none, nil, ""},
		"killed": {"memory_pool: 512MiB, load: each, alike: 3", none, nil,
			"3 instances with 768 MiB together are 1.5 times the pool of 512 MiB, and there is no swap space: what does not fit is killed"},
		"swapped":      {"memory_pool: 512MiB, load: each, alike: 3, conditions: {swap: 1GiB}", none, nil, ""},
		"the host's":   {"memory_pool: 512MiB, load: each, alike: 3, conditions: {swap: 1GiB}", own, nil, "the host's own swap space is used, of which 1 GiB are free; none is made"},
		"too much":     {"memory_pool: 256MiB, load: each, alike: 8, conditions: {swap: 1GiB}", none, []string{"x.yaml:7:65", "8 instances with 2 GiB together are 8 times the pool of 256 MiB", "the 1 GiB of swap space", "swap: 1792MiB"}, ""},
		"past host":    {"memory_pool: 22GiB, load: each, alike: 2", none, []string{"x.yaml:7:65", "a pool of 22 GiB", "an eighth of its 24 GiB", "the ratio counts"}, ""},
		"no swap":      {"shape: {swap: 64MiB}", none, []string{"x.yaml:7:66", "64 MiB of swap on a host without swap space", "conditions: {swap: 2GiB}"}, ""},
		"less swap":    {"shape: {swap: 1TiB}, conditions: {swap: 1GiB}", none, nil, "a: a limit of 1 TiB of swap limits nothing: there are 1 GiB of swap space"},
		"all the swap": {"shape: {swap: 1GiB}, conditions: {swap: 1GiB}", none, nil, ""},
		"a node":       {"shape: {memory_nodes: 0}", none, nil, ""},
		"no such node": {"shape: {memory_nodes: [0, 1]}", none, []string{"x.yaml:7:74", "subject: node 1: this host has memory on 0", "lscpu"}, ""},
		"its own swap": {"shape: {swap: 64MiB}", own, nil, ""},
		"no such disk": {"memory_pool: 512MiB, load: each, alike: 3, conditions: {swap: 20GiB}", none, []string{"x.yaml:7:114", "room for 10 GiB"}, ""},
	} {
		in := inputs(2)
		in.Host.MemoryNodes = []int{0}
		in.Host.Controls = map[string]bench.Control{bench.CondSwap: c.swap}
		p, err := makeWith(t, in, "\nname: x\nplatforms: native\nshape: {memory: 256MiB}\ntiming: {warmup: 1s, measure: 4s}\nscenes:\n  - {name: a, workload: spin, placement: floating, "+c.scene+"}\n")
		if len(c.says) == 0 && err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said := ""
		switch faults, many := err.(spec.Errors); {
		case many:
			said = faults.Text()
		case err != nil:
			said = err.Error()
		}
		for _, words := range c.says {
			if !strings.Contains(said, words) {
				t.Errorf("%s: %q lacks %q", name, said, words)
			}
		}
		if err == nil && (c.minds == "" && len(p.Warnings) > 0 || !strings.Contains(fmt.Sprint(p.Warnings), c.minds)) {
			t.Errorf("%s: warnings %q, want %q", name, p.Warnings, c.minds)
		}
	}
}

// Of a nesting the outer guest would lie in the pool, of Xen's domains nothing.
func TestWhatLiesInAPool(t *testing.T) {
	const text = "name: x\nplatforms: native, %s\nscenes:\n  - {name: a, workload: spin, alike: 2, load: each, vary: {memory_pool: [2GiB, 1GiB]}}\n  - {name: b, workload: spin}\n"
	_, err := makeWith(t, inputs(2), fmt.Sprintf(text, "docker@qemu-tcg"))
	faults, ok := err.(spec.Errors)
	if !ok || len(faults) != 1 || !strings.HasPrefix(faults.Text(), "x.yaml:2:12: docker@qemu-tcg in a scene with memory_pool: what would lie in the pool is qemu-tcg") || !strings.Contains(faults.Text(), "hint: leave the nesting out") {
		t.Errorf("a nesting: %v", err)
	}
	in := inputs(2)
	in.Available["lxc"] = bench.Availability{Ungrouped: true}
	p, err := makeWith(t, in, fmt.Sprintf(text, "lxc"))
	if want := "a: the memory of lxc is the hypervisor's, and not in the pool"; err != nil || !strings.Contains(fmt.Sprint(p.Warnings), want) {
		t.Errorf("%v, %v", p, err)
	}
}

// The ratio is of all instances that share the pool.
func TestMemoryRatio(t *testing.T) {
	p := planned(t, `
name: x
platforms: native
shape: {memory: 256MiB}
scenes:
  - {name: a, workload: talk, load: each, alike: 3, vary: {memory_pool: [512MiB, 768MiB]}}
  - {name: b, workload: spin}
`, inputs(2))
	var got []float64
	for i := range p.Scenes {
		got = append(got, p.Scenes[i].MemoryRatio())
	}
	if fmt.Sprint(got) != "[1.5 1 0]" {
		t.Errorf("ratios %v", got)
	}
}

package plan_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/plan"
)

// lacking is a host whose Docker has no host network with storage volumes, and
// whose emulated machines cannot be cached.
func lacking() plan.Inputs {
	in := inputs(2)
	in.Available = maps.Clone(in.Available)
	in.Available["docker"] = bench.Availability{Version: "20.10", Lacks: []bench.Lack{{
		With: map[string]string{"net": "host", "storage": "volume"},
		Err:  fmt.Errorf("no such thing: %w%w", bench.ErrUnavailable, bench.Hint("get it")),
	}}}
	nesting := bench.Availability{Version: "20.10@7.2"}
	nesting.Lack("@cache", "none", errors.New("the outer one has it not"))
	in.Available["docker@qemu-tcg"] = nesting
	return in
}

// A variant that cannot run here is left out with its reason; the platform's
// others run.
func TestLacks(t *testing.T) {
	p := planned(t, `
name: x
platforms: [native, docker, "docker[net=host]", "docker[storage=volume,net=host]", "docker@qemu-tcg", "docker@qemu-tcg[cache=writeback]"]
scenes: [{name: a, workload: spin}]
`, lacking())
	want := []bench.Skip{
		{Platform: "docker[net=host,storage=volume]", Reason: "no such thing", Hint: "get it", Named: true},
		{Platform: "docker@qemu-tcg", Reason: "the outer one has it not", Named: true},
	}
	if d := cmp.Diff(want, p.Skipped); d != "" {
		t.Error(d)
	}
	var ran []string
	for _, s := range p.Scenes {
		ran = append(ran, s.Platform.String())
	}
	if d := cmp.Diff([]string{"native", "docker", "docker[net=host]", "docker@qemu-tcg[cache=writeback]"}, ran); d != "" {
		t.Error(d)
	}
}

// A baseline or a neighbour that cannot run here is an error with the reason.
func TestLacksNeeded(t *testing.T) {
	for text, says := range map[string]string{
		"platforms: [native, 'docker[net=host,storage=volume]']\nbaseline: docker[net=host,storage=volume]\nscenes: [{name: a, workload: spin}]": "the baseline docker[net=host,storage=volume] cannot run here: no such thing",
		"platforms: [native]\nscenes: [{name: a, workload: spin, beside: {workload: spin, platform: 'docker[net=host,storage=volume]'}}]":        "needs docker[net=host,storage=volume], which cannot run here: no such thing",
		"platforms: [all-real]\nbaseline: qemu-tcg\nscenes: [{name: a, workload: spin}]":                                                         "the baseline qemu-tcg cannot run here: all-real leaves it out",
	} {
		_, err := plan.Make(read(t, "name: x\n"+text), lacking())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

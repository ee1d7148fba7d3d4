package host

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Changed reports each fact that must be equal in both halves of a run. A missing fact is not a
// change.
func TestChanged(t *testing.T) {
	was := read(t, plant(t, "metal-v2"), "/var/lib/tare")
	was.MachineID = "1"
	if len(was.Mitigations) == 0 || was.Governor == notExposed {
		t.Fatalf("the fixture tells too little: %+v", was)
	}
	if c := was.Changed(was); len(c) != 0 {
		t.Errorf("the same host: %q", c)
	}
	name := slices.Sorted(maps.Keys(was.Mitigations))[0]
	for says, change := range map[string]func(*Facts){
		"machine: another one by /etc/machine-id (":                   func(f *Facts) { f.MachineID = "2" },
		"processor: " + was.CPUModel + " when the run began, Z80 now": func(f *Facts) { f.CPUModel = "Z80" },
		"CPUs: ":                       func(f *Facts) { f.CPUs++ },
		"cores: ":                      func(f *Facts) { f.Cores++ },
		"usable CPUs: ":                func(f *Facts) { f.Usable = []int{0} },
		"SMT: ":                        func(f *Facts) { f.SMT = "another" },
		"hypervisor: ":                 func(f *Facts) { f.Hypervisor = "another" },
		"kernel: " + was.Kernel:        func(f *Facts) { f.Kernel = "7.0.0" },
		"governor: ":                   func(f *Facts) { f.Governor = "another" },
		"turbo: ":                      func(f *Facts) { f.Turbo = "another" },
		"clock source: ":               func(f *Facts) { f.ClockSource = "another" },
		"mitigation of " + name + ": ": func(f *Facts) { f.Mitigations = maps.Clone(f.Mitigations); f.Mitigations[name] = "Vulnerable" },
	} {
		now := *was
		change(&now)
		if c := was.Changed(&now); len(c) != 1 || !strings.HasPrefix(c[0], says) {
			t.Errorf("%s: %q", says, c)
		}
	}
	if c := was.Changed(&Facts{SMT: unknown, Governor: notExposed}); len(c) != 0 {
		t.Errorf("what was not read is a change: %q", c)
	}
}

// The kept id identifies one machine and does not reveal the system's id.
func TestMachineID(t *testing.T) {
	root := plant(t, "metal-v2")
	const id = "0123456789abcdef0123456789abcdef"
	ids := map[string]bool{}
	for _, text := range []string{"", "uninitialized\n", id + "\n", strings.Repeat("1", 32)} {
		put(t, root, "etc/machine-id", text)
		ids[read(t, root, "/var/lib/tare").MachineID] = true
	}
	if len(ids) != 3 || !ids[""] || ids[id] {
		t.Errorf("%v", ids)
	}
}

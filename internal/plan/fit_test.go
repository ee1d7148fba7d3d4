package plan_test

import (
	"fmt"
	"strings"
	"testing"
)

// A scene that fits has at most as many CPUs for each instance as the host has for all, and shares where
// that is less than one; peers keep theirs.
func TestFit(t *testing.T) {
	const text = `
name: x
platforms: native
shape: {cpus: 2, memory: 256MiB}
timing: {warmup: 1s, measure: 4s}
scenes:
  - {name: one, workload: spin, fit: true}
  - {name: two, workload: spin, alike: 2, load: each, fit: true}
  - {name: beside, workload: spin, beside: {workload: spin}, idle: 1, fit: true}
  - {name: as-said, workload: spin, beside: {workload: spin}}
`
	for cpus, want := range map[int]map[string]string{
		1: {"one": "[0]", "two": "[0] [0]", "beside": "[0] [0] [0]"},
		2: {"one": "[0 1]", "two": "[1] [0]", "beside": "[1] [0] [0]", "as-said": "[0 1] [0 1]"},
		4: {"one": "[1 2]", "two": "[1 2] [0 3]", "beside": "[1 2] [0 3] [0 3]", "as-said": "[1 2] [0 3]"},
	} {
		text := text
		if cpus == 1 { // two for each cannot be had
			text = text[:strings.Index(text, "  - {name: as-said")]
		}
		p, err := makeWith(t, inputs(cpus), text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Scenes {
			var got []string
			for _, a := range s.Actors {
				got = append(got, fmt.Sprint(a.CPUSet))
				if s.Case != "as-said" && a.Shape.CPUs > cpus {
					t.Errorf("%d CPUs: %s of %s has %d", cpus, a.Name, s.Case, a.Shape.CPUs)
				}
			}
			if text := strings.Join(got, " "); text != want[s.Case] {
				t.Errorf("%d CPUs, %s: on %s, want %s", cpus, s.Case, text, want[s.Case])
			}
		}
		said := fmt.Sprint(p.Warnings)
		if small := strings.Contains(said, "CPUs for all: each instance has 1"); small != (cpus < 4) {
			t.Errorf("%d CPUs: %s", cpus, said)
		}
		if shares := strings.Contains(said, "share the subject's"); shares != (cpus == 1) {
			t.Errorf("%d CPUs: %s", cpus, said)
		}
	}
}

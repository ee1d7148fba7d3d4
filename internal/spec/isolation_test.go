package spec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// adversary is an adversarial workload.
type adversary struct{ spectest.Work }

func (adversary) Attacks(string) bool { return true }

// mute is a workload that measures nothing.
type mute struct{ spectest.Work }

func (mute) Metrics(bench.Params) ([]bench.Metric, error) { return nil, nil }

func withAdversary() spec.Vocabulary {
	v := spectest.Vocabulary()
	v.Workloads = append(v.Workloads, adversary{spectest.Work{Word: "harm"}}, mute{spectest.Work{Word: "mute"}})
	return v
}

func TestRelative(t *testing.T) {
	e, err := spec.Parse("x.yaml", []byte(`
name: x
scenes:
  - {name: alone, workload: spin, vary: {limit: [1, 2]}}
  - {name: short, workload: spin, params: {limit: 1}, relative: plain}
  - {name: plain, workload: spin}
  - name: beside
    workload: spin
    beside: {workload: harm, containment: {pids: 200, memory: 2GiB, time: 5s}}
    vary: {limit: [1, 2], beside.placement: [apart, shared]}
    relative: {to: alone, row: CPU, column: harm}
`), nil, withAdversary())
	if err != nil {
		t.Fatal(err)
	}
	short, beside := e.Scenes[2], e.Scenes[4]
	if *short.Relative != (spec.Relative{To: "plain", Row: "plain", Column: "short"}) {
		t.Errorf("%+v", short.Relative)
	}
	if *beside.Relative != (spec.Relative{To: "alone", Row: "CPU", Column: "harm"}) {
		t.Errorf("%+v", beside.Relative)
	}
	if beside.Against(&e.Scenes[0]) == nil || beside.Against(&e.Scenes[1]) != nil {
		t.Errorf("with %v it is set against the variant %v", beside.Factors, e.Scenes[1].Factors)
	}
	if c := beside.Actors[1].Containment; c == nil || *c != (bench.Containment{Pids: 200, Memory: 2 * bench.GiB, Time: 5 * time.Second}) {
		t.Errorf("containment %+v", c)
	}
}

// Specifications in run folders of the format before call a containment a cage.
func TestKeysBefore(t *testing.T) {
	const text = "name: x\nscenes:\n  - {name: a, workload: spin, beside: {workload: harm, cage: {pids: 200}%s}}\n"
	e, err := spec.Parse("x.yaml", fmt.Appendf(nil, text, ""), nil, withAdversary())
	if err != nil {
		t.Fatal(err)
	}
	if c := e.Scenes[0].Actors[1].Containment; c == nil || c.Pids != 200 {
		t.Errorf("containment %+v", c)
	}
	if _, err := spec.Parse("x.yaml", fmt.Appendf(nil, text, ", containment: {pids: 300}"), nil, withAdversary()); err == nil ||
		!strings.Contains(err.Error(), "containment is given twice, once by its earlier name") {
		t.Errorf("both names: %v", err)
	}
}

func TestIsolationErrors(t *testing.T) {
	for scenes, want := range map[string]string{
		"{name: a, workload: spin, relative: a}":                                                                                                          `x.yaml:3:41: scene "a" cannot be relative to itself`,
		"{name: a, workload: spin, relative: {to: b}}":                                                                                                    `x.yaml:3:46: unknown scene "b"`,
		"{name: a, workload: spin, relative: {row: CPU}}":                                                                                                 "relative needs a scene",
		"{name: a, workload: spin, relative: {to: b}}, {name: b, workload: scan}":                                                                         `scene "b" does not measure what "a" does`,
		"{name: a, workload: spin, relative: {to: b}}, {name: b, startup: true}":                                                                          `scene "b" does not measure what "a" does`,
		"{name: a, workload: spin, relative: b}, {name: b, workload: spin, vary: {limit: [1, 2]}}":                                                        `no variant of scene "b" has the factors of "a"`,
		"{name: c, workload: spin}, {name: b, workload: spin, relative: a}\n  - {name: a, workload: spin, relative: b}":                                   "x.yaml:4:41: scene \"b\" is, by way of \"a\", relative to itself",
		"{name: a, workload: mute}, {name: b, workload: mute, relative: a}":                                                                               "x.yaml:4:41: scene \"b\" measures nothing to compare with \"a\"",
		"{name: a, ramp: {to: 4}}, {name: b, ramp: {to: 8}, relative: a}":                                                                                 "x.yaml:4:40: a ramp cannot be relative",
		"{name: c, workload: spin}, {name: b, workload: spin, relative: {to: c, column: x}}\n  - {name: a, workload: spin, relative: {to: c, column: x}}": `x.yaml:5:46: scenes "b" (at x.yaml:4:46) and "a" would stand in the same cell, row "c" and column "x" against "c"`,
		"{name: a, workload: harm}":                                                                                                          "harm is adversarial: it cannot be the subject without a containment",
		"{name: a, actors: [{workload: harm, containment: {pids: 3}}]}":                                                                      "3 is too few: at least 64",
		"{name: a, actors: [{workload: harm, containment: {memory: 64MiB}}]}":                                                                "a containment of 64MiB has no room for an instance of 1 GiB",
		"{name: a, actors: [{workload: harm, containment: {pods: 64}}]}":                                                                     `"pods"`,
		"{name: a, actors: [{workload: harm, containment: {time: soon}}]}":                                                                   `"soon" is not a time`,
		"{name: a, actors: [{name: s, workload: talk}, {role: neighbour, workload: talk, serves: s}]}":                                       "a neighbour cannot serve another actor",
		"{name: a, actors: [{name: s, workload: talk}, {name: peer, role: neighbour, workload: talk}, {name: peer, role: peer, serves: s}]}": `two actors are named "peer"`,
	} {
		_, err := spec.Parse("x.yaml", []byte("name: x\nscenes:\n  - "+strings.ReplaceAll(scenes, "}, {name: b", "}\n  - {name: b")), nil, withAdversary())
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "64 MiB", "64MiB"), want) {
			t.Errorf("%s\ngot  %v\nwant %s", scenes, err, want)
		}
	}
	// A containment makes it a subject like any other.
	if _, err := spec.Parse("x.yaml", []byte("name: x\nscenes: [{name: a, actors: [{workload: harm, containment: {pids: 100}}]}]"), nil, withAdversary()); err != nil {
		t.Error(err)
	}
}

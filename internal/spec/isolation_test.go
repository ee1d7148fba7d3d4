package spec_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// harm is a workload that means it.
type harm struct{ spectest.Work }

func (harm) Attacks(string) bool { return true }

// mute is a workload that measures nothing.
type mute struct{ spectest.Work }

func (mute) Metrics(bench.Params) ([]bench.Metric, error) { return nil, nil }

func withHarm() spec.Vocabulary {
	v := spectest.Vocabulary()
	v.Workloads = append(v.Workloads, harm{spectest.Work{Word: "harm"}}, mute{spectest.Work{Word: "mute"}})
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
    beside: {workload: harm, cage: {pids: 200, memory: 2GiB, time: 5s}}
    vary: {limit: [1, 2], beside.placement: [apart, shared]}
    relative: {to: alone, row: CPU, column: harm}
`), nil, withHarm())
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
	if c := beside.Actors[1].Cage; c == nil || *c != (bench.Cage{Pids: 200, Memory: 2 * bench.GiB, Time: 5 * time.Second}) {
		t.Errorf("cage %+v", c)
	}
}

func TestIsolationErrors(t *testing.T) {
	for scenes, want := range map[string]string{
		"{name: a, workload: spin, relative: a}":                                                                                                          `x.yaml:3:41: scene "a" cannot be relative to itself`,
		"{name: a, workload: spin, relative: {to: b}}":                                                                                                    `x.yaml:3:46: unknown scene "b"`,
		"{name: a, workload: spin, relative: {row: CPU}}":                                                                                                 "relative to which scene?",
		"{name: a, workload: spin, relative: {to: b}}, {name: b, workload: scan}":                                                                         `scene "b" does not measure what "a" does`,
		"{name: a, workload: spin, relative: {to: b}}, {name: b, startup: true}":                                                                          `scene "b" does not measure what "a" does`,
		"{name: a, workload: spin, relative: b}, {name: b, workload: spin, vary: {limit: [1, 2]}}":                                                        `no variant of scene "b" has the factors of "a"`,
		"{name: c, workload: spin}, {name: b, workload: spin, relative: a}\n  - {name: a, workload: spin, relative: b}":                                   "x.yaml:4:41: scene \"b\" is, by way of \"a\", relative to itself",
		"{name: a, workload: mute}, {name: b, workload: mute, relative: a}":                                                                               "x.yaml:4:41: scene \"b\" measures nothing that could be set against \"a\"",
		"{name: a, ramp: {to: 4}}, {name: b, ramp: {to: 8}, relative: a}":                                                                                 "x.yaml:4:40: a ramp cannot stand in a relative",
		"{name: c, workload: spin}, {name: b, workload: spin, relative: {to: c, column: x}}\n  - {name: a, workload: spin, relative: {to: c, column: x}}": `x.yaml:5:46: scenes "b" (at x.yaml:4:46) and "a" would stand in the same cell, row "c" and column "x" against "c"`,
		"{name: a, workload: harm}":                                                                                                          "harm means harm: it cannot be the subject without a cage",
		"{name: a, actors: [{workload: harm, cage: {pids: 3}}]}":                                                                             "3 is too few: at least 64",
		"{name: a, actors: [{workload: harm, cage: {memory: 64MiB}}]}":                                                                       "a cage of 64MiB has no room for an instance of 1 GiB",
		"{name: a, actors: [{workload: harm, cage: {pods: 64}}]}":                                                                            `"pods"`,
		"{name: a, actors: [{workload: harm, cage: {time: soon}}]}":                                                                          `"soon" is not a time`,
		"{name: a, actors: [{name: s, workload: talk}, {role: neighbour, workload: talk, serves: s}]}":                                       "a neighbour serves nobody: who serves the subject is its peer",
		"{name: a, actors: [{name: s, workload: talk}, {name: peer, role: neighbour, workload: talk}, {name: peer, role: peer, serves: s}]}": `actor "peer" is there already`,
	} {
		_, err := spec.Parse("x.yaml", []byte("name: x\nscenes:\n  - "+strings.ReplaceAll(scenes, "}, {name: b", "}\n  - {name: b")), nil, withHarm())
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "64 MiB", "64MiB"), want) {
			t.Errorf("%s\ngot  %v\nwant %s", scenes, err, want)
		}
	}
	// A cage makes it a subject like any other.
	if _, err := spec.Parse("x.yaml", []byte("name: x\nscenes: [{name: a, actors: [{workload: harm, cage: {pids: 100}}]}]"), nil, withHarm()); err != nil {
		t.Error(err)
	}
}

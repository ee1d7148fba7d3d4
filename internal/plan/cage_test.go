package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

type harm struct{ spectest.Work }

func (harm) Attacks(part string) bool { return part != bench.SubjectPart }

// harmful are inputs in whose words one means harm, and its peer does it.
func harmful() plan.Inputs {
	in := inputs(2)
	in.Host.Pids = 32768
	in.Words.Workloads = append(in.Words.Workloads, harm{spectest.Work{Word: "harm", Others: []string{"attacker"}}})
	return in
}

func makeWith(t *testing.T, in plan.Inputs, text string) (*bench.Plan, error) {
	t.Helper()
	e, err := spec.Parse("x.yaml", []byte(text), nil, in.Words)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Make(e, in)
}

func TestCages(t *testing.T) {
	in := harmful()
	p, err := makeWith(t, in, `
name: x
platforms: [native, docker]
timing: {warmup: 1s, measure: 4s}
scenes:
  - {name: own, workload: spin, beside: {workload: harm, shape: {memory: 512MiB}}}
  - {name: said, workload: spin, beside: {workload: harm, cage: {pids: 300, memory: 2GiB, time: 7s}}}
  - {name: calm, workload: spin, beside: {workload: spin}}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*bench.Cage{}
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			if a.Cage != nil {
				got[s.ID+" "+a.Name] = a.Cage
			}
		}
	}
	// The peer has the experiment's shape, 1 GiB.
	own := &bench.Cage{Pids: 1000, Memory: 896 * bench.MiB, Time: 25 * time.Second}
	peer := &bench.Cage{Pids: 1000, Memory: 1536 * bench.MiB, Time: 25 * time.Second}
	said := &bench.Cage{Pids: 300, Memory: 2 * bench.GiB, Time: 7 * time.Second}
	want := map[string]*bench.Cage{}
	for _, on := range []string{"native", "docker"} {
		want["own/"+on+" neighbour"], want["own/"+on+" neighbour-peer"] = own, peer
		want["said/"+on+" neighbour"], want["said/"+on+" neighbour-peer"] = said, peer
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCagesLeaveTheHostItsShare(t *testing.T) {
	for _, c := range []struct {
		host  func(*plan.Host)
		scene string
		want  string
	}{
		{nil, "{name: a, workload: spin, beside: {workload: harm, cage: {pids: 9000}}}", "x.yaml:3:69: 10000 tasks in cages are more than a quarter of the 32768 this host can have"},
		{nil, "{name: a, workload: spin, beside: {workload: harm, count: 5}}", "10000 tasks in cages are more than a quarter"},
		{func(h *plan.Host) { h.Memory = 2 * bench.GiB }, "{name: a, workload: spin, beside: {workload: harm}}", "leave the host less than an eighth of its 2 GiB"},
	} {
		in := harmful()
		if c.host != nil {
			c.host(&in.Host)
		}
		_, err := makeWith(t, in, "name: x\nscenes:\n  - "+c.scene)
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.scene, err, c.want)
		}
	}
}

// A cage that stands as long as the work takes and programs need to start and
// to end is enough, a shorter one an error.
func TestCageTime(t *testing.T) {
	for cage, want := range map[string]string{
		"1s":     "x.yaml:4:69: scene a: a cage of 1s is over too soon: warm-up and measuring take 1.2s undisturbed",
		"1.2s":   "starting and ending programs up to 1s more",
		"2.2s":   "",
		"2199ms": "is over too soon",
	} {
		_, err := makeWith(t, harmful(), `name: x
timing: {warmup: 200ms, measure: 1s}
scenes:
  - {name: a, workload: spin, beside: {workload: harm, cage: {time: `+cage+`}}}
`)
		if want == "" && err != nil || want != "" && (!errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %s", cage, err, want)
		}
	}
}

// Emulated work takes longer than what is the least that may be written, which is said.
func TestCageTimeUnderEmulation(t *testing.T) {
	for cage, want := range map[string]bool{"4s": true, "4.8s": false} {
		p, err := makeWith(t, harmful(), `name: x
platforms: native, qemu-tcg
timing: {warmup: 200ms, measure: 1s}
scenes:
  - {name: a, workload: spin, beside: {workload: harm, cage: {time: `+cage+`}}}
`)
		if err != nil {
			t.Fatal(err)
		}
		const words = "a: on qemu-tcg the cage's time of 4s may be over before the subject is through: what is emulated takes up to 4 times as long, here 4.8s"
		if got := slices.Contains(p.Warnings, words); got != want {
			t.Errorf("%s: %q", cage, p.Warnings)
		}
	}
}

func TestRelativeCases(t *testing.T) {
	p, err := makeWith(t, inputs(2), `
name: x
platforms: [native]
scenes:
  - {name: alone, title: Alone, workload: spin, vary: {limit: [1, 2]}}
  - name: beside
    workload: spin
    beside: {workload: spin}
    vary: {limit: [1, 2], beside.placement: [apart, shared]}
    relative: {to: alone, row: CPU, column: spin}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bench.Relative{}
	for _, s := range p.Scenes {
		if s.Relative != nil {
			got[s.Case] = *s.Relative
		}
	}
	want := map[string]bench.Relative{}
	for _, limit := range []string{"1", "2"} {
		for _, where := range []string{"apart", "shared"} {
			want["beside[limit="+limit+",beside.placement="+where+"]"] = bench.Relative{
				To: "alone[limit=" + limit + "]", Row: "CPU, limit " + limit, Column: "spin, placement " + where}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

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

type adversarial struct{ spectest.Work }

func (adversarial) Attacks(part string) bool { return part != bench.SubjectPart }

// adversary are inputs in whose words one means harm, and its peer does it.
func adversary() plan.Inputs {
	in := inputs(2)
	in.Host.Pids = 32768
	in.Words.Workloads = append(in.Words.Workloads, adversarial{spectest.Work{Word: "harm", Others: []string{"attacker"}}})
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

func TestContainments(t *testing.T) {
	in := adversary()
	p, err := makeWith(t, in, `
name: x
platforms: [native, docker]
timing: {warmup: 1s, measure: 4s}
scenes:
  - {name: own, workload: spin, beside: {workload: harm, shape: {memory: 512MiB}}}
  - {name: said, workload: spin, beside: {workload: harm, containment: {pids: 300, memory: 2GiB, time: 7s}}}
  - {name: calm, workload: spin, beside: {workload: spin}}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*bench.Containment{}
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			if a.Containment != nil {
				got[s.ID+" "+a.Name] = a.Containment
			}
		}
	}
	// The peer has the experiment's shape, 1 GiB.
	own := &bench.Containment{Pids: 1000, Memory: 896 * bench.MiB, Time: 25 * time.Second}
	peer := &bench.Containment{Pids: 1000, Memory: 1536 * bench.MiB, Time: 25 * time.Second}
	said := &bench.Containment{Pids: 300, Memory: 2 * bench.GiB, Time: 7 * time.Second}
	want := map[string]*bench.Containment{}
	for _, on := range []string{"native", "docker"} {
		want["own/"+on+" neighbour"], want["own/"+on+" neighbour-peer"] = own, peer
		want["said/"+on+" neighbour"], want["said/"+on+" neighbour-peer"] = said, peer
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestContainmentsLeaveTheHostItsShare(t *testing.T) {
	for _, c := range []struct {
		host  func(*plan.Host)
		scene string
		want  string
	}{
		{nil, "{name: a, workload: spin, beside: {workload: harm, containment: {pids: 9000}}}", "x.yaml:3:76: 10000 tasks in containments are more than a quarter of the 32768 this host can have"},
		{nil, "{name: a, workload: spin, beside: {workload: harm, count: 5}}", "10000 tasks in containments are more than a quarter"},
		{func(h *plan.Host) { h.Memory = 2 * bench.GiB }, "{name: a, workload: spin, beside: {workload: harm}}", "leave the host less than an eighth of its 2 GiB"},
	} {
		in := adversary()
		if c.host != nil {
			c.host(&in.Host)
		}
		_, err := makeWith(t, in, "name: x\nscenes:\n  - "+c.scene)
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.scene, err, c.want)
		}
	}
}

// A containment that stands as long as the work takes and programs need to start and
// to end is enough, a shorter one an error.
func TestContainmentTime(t *testing.T) {
	for containment, want := range map[string]string{
		"1s":     "x.yaml:4:76: scene a: a containment of 1s ends too soon: warm-up and measuring take 1.2s undisturbed",
		"1.2s":   "starting and ending programs up to 1s more",
		"2.2s":   "",
		"2199ms": "ends too soon",
	} {
		_, err := makeWith(t, adversary(), `name: x
timing: {warmup: 200ms, measure: 1s}
scenes:
  - {name: a, workload: spin, beside: {workload: harm, containment: {time: `+containment+`}}}
`)
		if want == "" && err != nil || want != "" && (!errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %s", containment, err, want)
		}
	}
}

// Emulated work takes longer than what is the least that may be written, which is said.
func TestContainmentTimeUnderEmulation(t *testing.T) {
	for containment, want := range map[string]bool{"4s": true, "4.8s": false} {
		p, err := makeWith(t, adversary(), `name: x
platforms: native, qemu-tcg
timing: {warmup: 200ms, measure: 1s}
scenes:
  - {name: a, workload: spin, beside: {workload: harm, containment: {time: `+containment+`}}}
`)
		if err != nil {
			t.Fatal(err)
		}
		const words = "a: on qemu-tcg the containment's time limit of 4s may be reached before the subject is through: what is emulated takes up to 4 times as long, here 4.8s"
		if got := slices.Contains(p.Warnings, words); got != want {
			t.Errorf("%s: %q", containment, p.Warnings)
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
			if words := strings.TrimPrefix(s.Relative.Row, "CPU") + strings.TrimPrefix(s.Relative.Column, "spin"); s.Title != "beside"+words {
				t.Errorf("the title of %s is %q", s.Case, s.Title)
			}
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

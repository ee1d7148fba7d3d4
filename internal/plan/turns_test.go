package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

const inTurns = `
name: x
platforms: native, docker, lxc
controls: true
timing: {warmup: 1s, measure: 2s}
scenes:
  - {name: a, title: A, workload: spin, turns: 50ms}
  - {name: b, workload: talk, params: {test: rr}, turns: 100ms}
`

// A scene in turns has the subject's twin on the baseline, on the subject's CPUs, each with peers of
// its own, and one metric.
func TestTurns(t *testing.T) {
	p := planned(t, inTurns, inputs(4))
	for _, platform := range []string{"native", "docker", "lxc"} {
		s := p.Scene("a/" + platform)
		if s == nil {
			t.Fatalf("no scene on %s", platform)
		}
		subject, partner := s.Actors[0], s.Actors[1]
		if s.Turns != 50*time.Millisecond || len(s.Actors) != 2 || partner.Role != bench.Partner || partner.Platform.String() != "native" ||
			subject.Platform.String() != platform || partner.Workload != "spin" || partner.CPUSet[0] != subject.CPUSet[0] {
			t.Errorf("%s: %+v", platform, s.Actors)
		}
		b := p.Scene("b/" + platform)
		served := map[string]bool{}
		for _, a := range b.Actors {
			if a.Role == bench.Peer {
				served[a.Serves] = true
				if a.CPUSet[0] == b.Actors[0].CPUSet[0] {
					t.Errorf("%s: %s shares the CPU of those it serves", platform, a.Name)
				}
			}
		}
		if len(b.Actors) != 4 || !served["subject"] || !served["partner"] {
			t.Errorf("%s: %+v", platform, b.Actors)
		}
	}
	if p.Scene("a/native[as=control]") != nil {
		t.Error("in turns the baseline's own trial is the control")
	}
	if m := p.Metrics["a"]; len(m) != 1 || m[0].Name != "rate_in_turns" || !m[0].Headline {
		t.Errorf("metrics %+v", m)
	}
	if title := p.Scene("a/native").Title; title != "A, in turns of 50ms" {
		t.Errorf("title %q", title)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("sharing that turns are made of is no surprise: %q", p.Warnings)
	}
}

// Platforms that cannot be frozen from outside are launched apart from the baseline, by variant too,
// and the plan says so. With a baseline that cannot, all are.
func TestTurnsApart(t *testing.T) {
	in := inputs(4)
	in.Available["lxc"] = bench.Availability{Ungrouped: true}
	in.Available["docker"] = bench.Availability{Unfrozen: []bench.Lack{{With: map[string]string{"storage": "volume"}, Err: errors.New("volumes melt")}}}
	in.Available["docker@qemu-tcg"] = bench.Availability{}
	text := strings.Replace(inTurns, "docker, lxc", "docker, docker[storage=volume], lxc, docker@qemu-tcg", 1)
	p := planned(t, text, in)
	of := func(name string) (platforms []string) {
		for _, s := range p.Scenes {
			if s.Case == name {
				platforms = append(platforms, s.Platform.String())
			}
		}
		slices.Sort(platforms)
		return platforms
	}
	for name, want := range map[string]string{
		"a":       "docker native",
		"a-apart": "docker@qemu-tcg docker[storage=volume] lxc native native[as=control]",
		"b-apart": "docker@qemu-tcg docker[storage=volume] lxc native native[as=control]",
	} {
		if got := strings.Join(of(name), " "); got != want {
			t.Errorf("%s is measured on %s, want %s", name, got, want)
		}
	}
	if s := p.Scene("b-apart/lxc"); s.Turns != 0 || len(s.Actors) != 2 || s.Actors[1].Serves != "subject" {
		t.Errorf("apart there is no partner, and no peer of one: %+v", s.Actors)
	}
	if m := p.Metrics["a-apart"]; len(m) != 1 || m[0].Name != "rate" {
		t.Errorf("apart the metrics are the workload's: %+v", m)
	}
	warned := strings.Join(p.Warnings, "\n")
	for _, want := range []string{
		"lxc is launched apart, in a case whose name ends in -apart: it cannot take turns: no control group of the host's holds all",
		"docker[storage=volume] is launched apart, in a case whose name ends in -apart: it cannot take turns: volumes melt",
		"docker@qemu-tcg is launched apart, in a case whose name ends in -apart: it cannot take turns: what freezes the outer guest",
	} {
		if !strings.Contains(warned, want) {
			t.Errorf("warnings lack %q:\n%s", want, warned)
		}
	}
	p = planned(t, strings.Replace(inTurns, "controls: true", "baseline: lxc", 1), in)
	if len(of("a")) > 0 || strings.Join(of("a-apart"), " ") != "docker lxc native" {
		t.Errorf("with a baseline that cannot: %v, apart %v", of("a"), of("a-apart"))
	}
	p = planned(t, strings.Replace(inTurns, "docker, lxc", "lxc", 1), in)
	if len(of("a")) > 0 {
		t.Errorf("the baseline takes turns with nobody: %v", of("a"))
	}
	_, err := makeWith(t, in, inTurns+"  - {name: a-apart, workload: spin}\n")
	if err == nil || !strings.Contains(err.Error(), `"a-apart", which is another scene's name`) || bench.HintOf(err) == "" {
		t.Errorf("a name that is taken: %v", err)
	}
}

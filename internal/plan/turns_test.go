package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
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
	for _, platform := range []string{"native", "docker", "lxc", "native[as=control]"} {
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

// Platforms that cannot be frozen from outside are left out, by variant too, and said so; a baseline
// that cannot is an error.
func TestTurnsLeaveOut(t *testing.T) {
	in := inputs(4)
	in.Available["lxc"] = bench.Availability{Ungrouped: true}
	in.Available["docker"] = bench.Availability{Unfrozen: []bench.Lack{{With: map[string]string{"storage": "volume"}, Err: errors.New("volumes melt")}}}
	text := strings.Replace(inTurns, "docker, lxc", "docker, docker[storage=volume], lxc, docker@qemu-tcg", 1)
	in.Available["docker@qemu-tcg"] = bench.Availability{}
	p := planned(t, text, in)
	for _, s := range p.Scenes {
		if name := s.Platform.String(); name != "native" && name != "docker" && name != "native[as=control]" {
			t.Errorf("%s takes turns", name)
		}
	}
	warned := strings.Join(p.Warnings, "\n")
	for _, want := range []string{
		"left out lxc, which cannot take turns: no control group of the host's holds all",
		"left out docker[storage=volume], which cannot take turns: volumes melt",
		"left out docker@qemu-tcg, which cannot take turns: what freezes the outer guest",
	} {
		if !strings.Contains(warned, want) {
			t.Errorf("warnings lack %q:\n%s", want, warned)
		}
	}
	_, err := makeWith(t, in, strings.Replace(inTurns, "controls: true", "baseline: lxc", 1))
	var faults spec.Errors
	if !errors.As(err, &faults) || !strings.Contains(faults.Text(), "the baseline lxc cannot take turns") || !strings.Contains(faults.Text(), "x.yaml:7:") {
		t.Errorf("a baseline that cannot: %v", err)
	}
}

package plan_test

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
)

const afar = "\nname: x\nplatforms: native\nhosts: {load1: {reach: 10.0.0.7/24}, load2: {reach: 10.0.0.8/24}}\nscenes:\n  - {name: a, workload: serve, peer: {host: load1}}\n"

// A peer on a further host takes no CPU of this one, and only the hosts that are used are in the plan.
func TestPeerAfar(t *testing.T) {
	p, err := makeWith(t, inputs(2), afar)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Hosts) != 1 || p.Hosts[0].Name != "load1" {
		t.Errorf("hosts %+v", p.Hosts)
	}
	peer := p.Scenes[0].Actors[1]
	if !peer.Away() || len(peer.CPUSet) > 0 {
		t.Errorf("the peer is on %s, CPUs %v", peer.Host, peer.CPUSet)
	}
	for _, w := range p.Warnings {
		if strings.Contains(w, "is shared by") {
			t.Errorf("warning %q", w)
		}
	}
	var text strings.Builder
	plan.Render(&text, p)
	if !strings.Contains(text.String(), "peer on host load1") {
		t.Errorf("the plan does not say where the peer is:\n%s", text.String())
	}
}

// No port is opened on a further host, and nothing that means harm runs where the network has a way out.
func TestPeerAfarRefused(t *testing.T) {
	for scene, want := range map[string]string{
		"{name: a, workload: talk, peer: {host: load1}}":                                                           "x.yaml:6:44: peer serves, and a peer on a further host only calls",
		"{name: a, workload: serve, peer: {host: load1}}\n  - {name: b, workload: spin, beside: {workload: harm}}": "x.yaml:6:45: scene b has an adversary",
	} {
		_, err := makeWith(t, adversary(), strings.Replace(afar, "{name: a, workload: serve, peer: {host: load1}}", scene, 1))
		faults, ok := err.(spec.Errors)
		if !ok || !strings.Contains(faults.Text(), want) || !strings.Contains(faults.Text(), "hint: ") {
			t.Errorf("%s: %v, want %q", scene, err, want)
		}
	}
}

// What has a network of its own is left out where the peer is on a further host, with what to write; as the baseline
// it is an error.
func TestFoundFromAfar(t *testing.T) {
	p, err := makeWith(t, inputs(2), strings.Replace(afar, "platforms: native", "platforms: native, docker, docker[net=host], lxc", 1))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Scenes {
		got = append(got, s.Platform.String())
	}
	for _, s := range p.Skipped {
		got = append(got, s.Platform+": "+s.Reason+" ("+s.Hint+")")
	}
	want := "native; docker[net=host]; docker: it has a network of its own, in which host load1 does not find it (name it with net=host: docker[net=host]); " +
		"lxc: it has a network of its own, in which host load1 does not find it (a peer on this host loads it)"
	if strings.Join(got, "; ") != want {
		t.Errorf("%q", strings.Join(got, "; "))
	}
	_, err = makeWith(t, inputs(2), strings.Replace(afar, "platforms: native", "platforms: native, docker\nbaseline: docker", 1))
	if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "does not find it") || !strings.Contains(bench.HintOf(err), "docker[net=host]") {
		t.Errorf("%v, hint %q", err, bench.HintOf(err))
	}
}

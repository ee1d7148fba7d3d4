package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// afar is an experiment with further hosts and one scene.
func afar(hosts, scene string) string {
	return "name: x\nplatforms: native, docker\nhosts: " + hosts + "\nscenes:\n  - {name: a, " + scene + "}\n"
}

func TestFurtherHosts(t *testing.T) {
	e, err := spec.Parse("x.yaml", []byte(afar("{load1: {reach: 10.0.0.7/24, config: own}, load2: {reach: 192.168.1.9/16}}", "workload: serve, peer: {host: load1}")), nil, spectest.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Hosts) != 2 || e.Hosts[0].Config != filepath.Join(here, "own") || e.Hosts[0].Reach.String() != "10.0.0.7/24" || e.Hosts[1].Name != "load2" {
		t.Errorf("hosts %+v", e.Hosts)
	}
	for _, a := range e.Scenes[0].Actors {
		if want := map[bench.Role]string{bench.Subject: "local", bench.Peer: "load1"}[a.Role]; a.Host != want {
			t.Errorf("%s is on %s, want %s", a.Name, a.Host, want)
		}
	}
	general := strings.Replace(afar("{load1: {reach: 10.0.0.7/24}}", "workload: serve"), "workload: serve", "actors: [{workload: serve}, {role: peer, host: load1}]", 1)
	if e, err = spec.Parse("x.yaml", []byte(general), nil, spectest.Vocabulary()); err != nil || e.Scenes[0].Actors[1].Host != "load1" {
		t.Errorf("%v", err)
	}
}

// What cannot be a further host, or an actor on one, is an error where it was written, with a hint.
func TestFurtherHostsRefused(t *testing.T) {
	const good, scene = "{load1: {reach: 10.0.0.7/24}}", "workload: serve, peer: {host: load1}"
	for _, c := range []struct{ hosts, scene, says, hint string }{
		{"load1", scene, "x.yaml:3:8: hosts are written as a mapping", "hosts: {load1:"},
		{"{load1: 10.0.0.7/24}", scene, "x.yaml:3:16: host load1 is written as a mapping", "keys: reach, config"},
		{"{load1: {config: own}}", scene, "x.yaml:3:9: host load1 needs the address", "reach: 10.0.0.7/24"},
		{"{load1: {reach: 10.0.0.7}}", scene, `x.yaml:3:24: reach: "10.0.0.7" is not an address with the length`, "such as 10.0.0.7/24"},
		{"{load1: {reach: load1}}", scene, `"load1" is not an address`, "such as"},
		{"{load1: {reach: 8.8.8.8/24}}", scene, "x.yaml:3:24: 8.8.8.8 is not a private address", "10.0.0.0/8"},
		{"{load1: {reach: 10.0.0.0/24}}", scene, "10.0.0.0/24 is the address of the network", "free address"},
		{"{load1: {reach: 10.0.0.7/24, port: 22}}", scene, `unknown key of host load1 "port"`, "reach, config"},
		{"{-oProxyCommand=reboot: {reach: 10.0.0.7/24}}", scene, "is not the name of a further host", "as Host in the configuration"},
		{"{local: {reach: 10.0.0.7/24}}", scene, `"local" is not the name`, ""},
		{good, "workload: serve, peer: {host: laod1}", `x.yaml:5:45: unknown host "laod1"; did you mean "load1"?`, ""},
		{good, "workload: serve, peer: {host: load1}, beside: {workload: spin, host: load1}", "x.yaml:5:84: a neighbour runs on this host", "host: local"},
		{good, "workload: serve, host: load1", `unknown host "load1"`, ""},
		{good, "actors: [{workload: serve, host: load1}]", "a subject runs on this host", ""},
	} {
		_, err := spec.Parse("x.yaml", []byte(afar(c.hosts, c.scene)), nil, spectest.Vocabulary())
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("hosts: %s; %s: %v, hint %q; want %q, %q", c.hosts, c.scene, err, bench.HintOf(err), c.says, c.hint)
		}
	}
	if _, err := spec.Parse("x.yaml", []byte(strings.Replace(afar(good, scene), "hosts: "+good+"\n", "", 1)), nil, spectest.Vocabulary()); err == nil || !strings.Contains(bench.HintOf(err), "hosts: {load1:") {
		t.Errorf("%v, hint %q", err, bench.HintOf(err))
	}
}

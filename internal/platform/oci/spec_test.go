package oci

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

func example() container {
	return container{
		agent: "/opt/tare-agent", group: "r1/a/container", netns: "/run/tare/r1/port0.2",
		launch: bench.Launch{
			ID: "r1-a", CPUSet: []int{0, 3}, Dir: "/d", Options: map[string]string{"net": "veth", "storage": "bind"},
			Shape: bench.Shape{CPUs: 2, CPUQuota: 1.5, Memory: 512 * bench.MiB, Pids: 64},
		},
	}
}

func all(string, string, string) bool { return true }

func TestResources(t *testing.T) {
	for name, c := range map[string]struct {
		shape bench.Shape
		has   func(controller, v1, v2 string) bool
		want  string
		lacks []string
	}{
		"every limit": {example().launch.Shape, all,
			`"memory":{"limit":536870912,"swap":536870912},"cpu":{"quota":150000,"period":100000,"cpus":"0,3"},"pids":{"limit":64}`, nil},
		"few": {bench.Shape{CPUs: 1, Memory: bench.MiB}, all,
			`"memory":{"limit":1048576,"swap":1048576},"cpu":{"cpus":"0,3"}`, nil},
		"no swap accounting": {bench.Shape{CPUs: 1, Memory: bench.MiB},
			func(_, v1, _ string) bool { return !strings.Contains(v1, "memsw") },
			`"memory":{"limit":1048576},"cpu":{"cpus":"0,3"}`, []string{"swap limit"}},
		"nothing": {example().launch.Shape, func(string, string, string) bool { return false },
			`"cpu":{}`, []string{"cpu set", "cpu quota", "memory limit", "swap limit", "pids limit"}},
		"a disk rate": {bench.Shape{CPUs: 1, Memory: bench.MiB, DiskIOPS: 475}, all,
			`"memory":{"limit":1048576,"swap":1048576},"cpu":{"cpus":"0,3"},"blockIO":{"throttleReadIOPSDevice":[{"major":254,"minor":1,"rate":475}],"throttleWriteIOPSDevice":[{"major":254,"minor":1,"rate":475}]}`, nil},
		"a disk's bandwidth": {bench.Shape{CPUs: 1, Memory: bench.MiB, DiskBandwidth: 5 * bench.MiB}, all,
			`"memory":{"limit":1048576,"swap":1048576},"cpu":{"cpus":"0,3"},"blockIO":{"throttleReadBpsDevice":[{"major":254,"minor":1,"rate":5242880}],"throttleWriteBpsDevice":[{"major":254,"minor":1,"rate":5242880}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := example()
			e.launch.Shape, e.disk = c.shape, cgroup.Disk{Number: "254:1", Path: "/dev/vda1"}
			s, lacks := e.spec(c.has)
			text, err := json.Marshal(s.Linux.Resources)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"devices":[{"allow":false,"access":"rwm"}],` + c.want + "}"
			if diff := cmp.Diff(want, string(text)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.lacks, lacks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamespacesAndMounts(t *testing.T) {
	for _, c := range []struct {
		net, netns, storage string
		wantNet             string // the network namespace's path; "-" for none in the specification
		wantScratch         string
	}{
		{"veth", "/run/ns", "bind", "/run/ns", "/d/scratch"},
		{"host", "", "rootfs", "-", ""},
		{"none", "", "bind", "", "/d/scratch"},
	} {
		e := example()
		e.netns, e.launch.Options = c.netns, map[string]string{"net": c.net, "storage": c.storage}
		s, _ := e.spec(all)
		net, scratch := "-", ""
		for _, n := range s.Linux.Namespaces {
			if n.Type == "network" {
				net = n.Path
			}
		}
		for _, m := range s.Mounts {
			if m.Destination == bench.ScratchDir {
				scratch = m.Source
			}
		}
		if net != c.wantNet || scratch != c.wantScratch {
			t.Errorf("net=%s, storage=%s: network namespace %q, scratch %q", c.net, c.storage, net, scratch)
		}
		if s.Linux.CgroupsPath != "/tare/r1/a/container" || s.Process.Args[0] != agentInside {
			t.Errorf("cgroup %q, process %q", s.Linux.CgroupsPath, s.Process.Args)
		}
	}
}

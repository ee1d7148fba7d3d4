package incus

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

func example() container {
	return container{
		launch: bench.Launch{ID: "r1-a", CPUSet: []int{3}, Options: map[string]string{"net": "veth", "init": "none"},
			Shape: bench.Shape{CPUs: 1, Memory: 256 * bench.MiB}},
		agent: "/opt/tare-agent", scratch: "/d/scratch", port: "/d/port", group: "tare/r1/r1-a", bridge: "tarebr0",
		lease: bench.Lease{Addr: netip.MustParsePrefix("10.231.0.2/16"), Gateway: netip.MustParseAddr("10.231.0.1"), MAC: "02:74:0a:e7:00:02"},
	}
}

// An instance of this configuration was made by Incus 6.0.4, see TestConformance.
const plain = `{
	"config": {
		"environment.PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"limits.cpu": "3-3",
		"limits.memory": "268435456",
		"limits.memory.swap": "false",
		"raw.lxc": "lxc.cgroup.dir = tare/r1/r1-a\nlxc.init.cmd = /.tare-agent serve --port /.tare-port/agent\nlxc.net.0.ipv4.address = 10.231.0.2/16\nlxc.net.0.ipv4.gateway = 10.231.0.1\n",
		"security.idmap.base": "524288",
		"security.idmap.size": "65536",
		"volatile.last_state.idmap": "[{\"Isuid\":true,\"Isgid\":false,\"Hostid\":524288,\"Nsid\":0,\"Maprange\":65536},{\"Isuid\":false,\"Isgid\":true,\"Hostid\":524288,\"Nsid\":0,\"Maprange\":65536}]"
	},
	"devices": {
		"agent": {
			"path": "/.tare-agent",
			"readonly": "true",
			"source": "/opt/tare-agent",
			"type": "disk"
		},
		"eth0": {
			"hwaddr": "02:74:0a:e7:00:02",
			"nictype": "bridged",
			"parent": "tarebr0",
			"type": "nic"
		},
		"port": {
			"path": "/.tare-port",
			"source": "/d/port",
			"type": "disk"
		},
		"scratch": {
			"path": "/scratch",
			"source": "/d/scratch",
			"type": "disk"
		}
	}
}`

func TestConfiguration(t *testing.T) {
	everything := func(string, string, string) bool { return true }
	for name, c := range map[string]struct {
		change func(*container)
		has    func(controller, v1, v2 string) bool
		want   func(string) string
		lacks  []string
	}{
		"plain": {func(*container) {}, everything, func(s string) string { return s }, nil},
		"all limits": {func(c *container) {
			c.launch.CPUSet = []int{0, 2, 3}
			c.launch.Shape.CPUQuota, c.launch.Shape.Pids, c.launch.Shape.DiskIOPS = 1.5, 64, 475
			c.disk = cgroup.Disk{Path: "/dev/vda", Number: "254:0"}
		}, everything, strings.NewReplacer(
			`"limits.cpu": "3-3"`, "\"limits.cpu\": \"0,2,3\",\n\t\t\"limits.cpu.allowance\": \"150ms/100ms\"",
			`"limits.memory.swap": "false"`, "\"limits.memory.swap\": \"false\",\n\t\t\"limits.processes\": \"64\"",
			`gateway = 10.231.0.1\n`, `gateway = 10.231.0.1\nlxc.cgroup.blkio.throttle.read_iops_device = 254:0 475\nlxc.cgroup.blkio.throttle.write_iops_device = 254:0 475\n`,
		).Replace, nil},
		"no swap accounting, no disk": {func(c *container) { c.launch.Shape.DiskIOPS = 475 },
			func(_, v1, _ string) bool { return v1 != "memory.memsw.limit_in_bytes" },
			strings.NewReplacer("\n\t\t\"limits.memory.swap\": \"false\",", "").Replace, []string{"swap limit", cgroup.DiskRate}},
		"a system container without a network": {func(c *container) {
			c.launch.Options = map[string]string{"net": "none", "init": "systemd"}
		}, everything, func(s string) string {
			a, b := strings.Index(s, "\t\t\"eth0\""), strings.Index(s, "\t\t\"port\"")
			s = s[:a] + s[b:]
			return strings.NewReplacer("/.tare-agent serve --port /.tare-port/agent", "/sbin/init SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1",
				`lxc.net.0.ipv4.address = 10.231.0.2/16\nlxc.net.0.ipv4.gateway = 10.231.0.1\n`, "").Replace(s)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := example()
			c.change(&in)
			got, lacks, err := in.encode(c.has)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want(plain), string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.lacks, lacks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllowance(t *testing.T) {
	for quota, want := range map[float64]string{0.5: "50ms/100ms", 2: "200ms/100ms", 0.333: "333ms/1000ms", 1.2345: "1235ms/1000ms"} {
		if got := allowance(bench.Shape{CPUQuota: quota}); got != want {
			t.Errorf("%v CPUs: %s, want %s", quota, got, want)
		}
	}
}

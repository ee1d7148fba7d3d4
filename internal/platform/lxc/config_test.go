package lxc

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

func example() container {
	return container{
		launch: bench.Launch{
			ID: "r1-a", CPUSet: []int{0, 3}, Dir: "/state/r1/a", Options: map[string]string{"net": "veth"},
			Shape: bench.Shape{CPUs: 2, CPUQuota: 1.5, Memory: 512 * bench.MiB, Pids: 64},
		},
		image: "/image/root", agent: "/opt/tare-agent", group: "tare/r1/r1-a", bridge: "tarebr0",
		lease: bench.Lease{
			Addr:    netip.MustParsePrefix("10.231.0.2/16"),
			Gateway: netip.MustParseAddr("10.231.0.1"), MAC: "02:74:0a:e7:00:02",
		},
	}
}

func everything(string, string) bool { return true }

const common = `lxc.include = /usr/share/lxc/config/common.conf
lxc.environment = PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
lxc.uts.name = r1-a
lxc.rootfs.path = overlay:/image/root:/state/r1/a/upper
lxc.mount.entry = /opt/tare-agent .tare-agent none bind,ro,create=file 0 0
lxc.mount.entry = /state/r1/a/scratch scratch none bind,create=dir 0 0
lxc.cgroup.dir = tare/r1/r1-a
`

const limitsV1 = `lxc.cgroup.cpuset.cpus = 0,3
lxc.cgroup.cpu.cfs_period_us = 100000
lxc.cgroup.cpu.cfs_quota_us = 150000
lxc.cgroup.memory.limit_in_bytes = 536870912
lxc.cgroup.memory.memsw.limit_in_bytes = 536870912
lxc.cgroup.pids.max = 64
`

const limitsV2 = `lxc.cgroup2.cpuset.cpus = 0,3
lxc.cgroup2.cpu.max = 150000 100000
lxc.cgroup2.memory.max = 536870912
lxc.cgroup2.memory.swap.max = 0
lxc.cgroup2.pids.max = 64
`

const veth = `lxc.net.0.type = veth
lxc.net.0.link = tarebr0
lxc.net.0.flags = up
lxc.net.0.hwaddr = 02:74:0a:e7:00:02
lxc.net.0.ipv4.address = 10.231.0.2/16
lxc.net.0.ipv4.gateway = 10.231.0.1
`

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*container)
		has    func(controller, file string) bool
		want   string
		lacks  []string
	}{
		"v1": {func(*container) {}, everything, common + limitsV1 + veth, nil},
		"v2": {func(c *container) { c.v2 = true }, everything, common + limitsV2 + veth, nil},
		"no swap accounting, no pids": {func(*container) {}, func(controller, file string) bool {
			return controller != "pids" && file != "memory.memsw.limit_in_bytes"
		}, common + strings.Split(limitsV1, "lxc.cgroup.memory.memsw")[0] + veth, []string{"swap limit", "pids limit"}},
		"host network": {func(c *container) { c.launch.Options = map[string]string{"net": "host"} }, everything,
			common + limitsV1 + "lxc.net.0.type = none\n", nil},
		"unprivileged": {func(c *container) {
			c.launch.Options = map[string]string{"net": "veth", "userns": "yes"}
		}, everything, strings.NewReplacer(
			"common.conf\n", "common.conf\nlxc.include = /usr/share/lxc/config/userns.conf\nlxc.idmap = u 0 524288 65536\nlxc.idmap = g 0 524288 65536\n",
			"overlay:/image/root:/state/r1/a/upper", "dir:/run/lxc/root", "/opt/tare-agent", "/run/lxc/agent", "/state/r1/a/scratch", "/run/lxc/scratch",
		).Replace(common) + limitsV1 + veth, nil},
		"a system container": {func(c *container) { c.launch.Options["init"] = "systemd" }, everything,
			strings.Replace(common, "lxc.cgroup.dir", "lxc.mount.entry = /state/r1/a/port .tare-port none bind,create=dir 0 0\n"+
				"lxc.console.path = none\nlxc.tty.max = 0\nlxc.cgroup.dir", 1) + limitsV1 + veth, nil},
		"a copy": {func(c *container) { c.launch.Options["store"] = "dir" }, everything,
			strings.Replace(common, "overlay:/image/root:/state/r1/a/upper", "dir:/state/r1/a/rootfs", 1) + limitsV1 + veth, nil},
		"no network, only what must be": {func(c *container) {
			c.launch.Options = map[string]string{"net": "none"}
			c.launch.Shape.CPUQuota, c.launch.Shape.Pids, c.v2 = 0, 0, true
		}, everything, common + "lxc.cgroup2.cpuset.cpus = 0,3\nlxc.cgroup2.memory.max = 536870912\nlxc.cgroup2.memory.swap.max = 0\nlxc.net.0.type = empty\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := example()
			c.change(&in)
			got, lacks := in.config(c.has)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.lacks, lacks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInitArgs(t *testing.T) {
	c := example()
	c.launch.Options["init"] = "systemd"
	if got := strings.Join(c.args(), " "); !strings.HasSuffix(got, "--foreground -- /sbin/init SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1") {
		t.Errorf("v1: %s", got)
	}
	if c.v2 = true; !strings.HasSuffix(strings.Join(c.args(), " "), "--foreground -- /sbin/init") {
		t.Errorf("v2: %s", c.args())
	}
}

func TestArgs(t *testing.T) {
	want := "--name r1-a --lxcpath /state/r1/a --rcfile /state/r1/a/r1-a/config --logfile /state/r1/a/lxc.log --logpriority WARN -- /.tare-agent serve"
	if got := strings.Join(example().args(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCheckPaths(t *testing.T) {
	if err := example().checkPaths(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"relative", "/a b", "/a:b", "/a,b", "/a\nlxc.hook.start = /bin/sh", `/a\b`, "/a#b", ""} {
		c := example()
		c.image = bad
		if err := c.checkPaths(); !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{"5.0.2\n": "5.0.2", "6.0.0-rc1\n": "6.0.0-rc1", "1:4.0.12-0ubuntu1\n": "", "": "", "lxc 5": ""} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("5.0.2\n")
	f.Add("4.0.12\nmore")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVersion(text)
		if (err == nil) == (v == "") || strings.ContainsAny(v, " \n") {
			t.Errorf("%q: %q, %v", text, v, err)
		}
	})
}

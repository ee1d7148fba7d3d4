package lxc

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// agentInside is where the agent lies inside a container.
const agentInside = "/.tare-agent"

// container is all a configuration is made of.
type container struct {
	launch bench.Launch
	image  string // the golden root, the lower layer
	agent  string
	group  string // the cgroup it is made in, relative to each hierarchy
	bridge string
	lease  bench.Lease // with net=veth
	disk   cgroup.Disk // under the launch's directory
	v2     bool
}

func (c container) upper() string   { return filepath.Join(c.launch.Dir, "upper") }
func (c container) work() string    { return filepath.Join(c.launch.Dir, "work") }
func (c container) copied() string  { return filepath.Join(c.launch.Dir, "rootfs") }
func (c container) scratch() string { return filepath.Join(c.launch.Dir, "scratch") }

func (c container) unprivileged() bool { return c.launch.Options["userns"] == "yes" }
func (c container) boots() bool        { return c.launch.Options["init"] == "systemd" }
func (c container) copies() bool       { return c.launch.Options["store"] == "dir" }

// A container's users may not be able to reach the state directory. What an
// unprivileged one is made of is therefore mounted below runtimeDir, see [instance].
const (
	rootThere    = runtimeDir + "/root"
	scratchThere = runtimeDir + "/scratch"
	agentThere   = runtimeDir + "/agent"
	portThere    = runtimeDir + "/port"
)

// sources are the root file system as LXC's configuration names it, the
// scratch space, the agent and the directory with its socket.
func (c container) sources() (root, scratch, agent, port string) {
	switch {
	case c.unprivileged():
		return "dir:" + rootThere, scratchThere, agentThere, portThere
	case c.copies():
		return "dir:" + c.copied(), c.scratch(), c.agent, c.port()
	}
	return "overlay:" + c.image + ":" + c.upper(), c.scratch(), c.agent, c.port()
}

func (c container) log() string    { return filepath.Join(c.launch.Dir, "lxc.log") }
func (c container) stderr() string { return filepath.Join(c.launch.Dir, "lxc.err") }

// file is where lxc looks for the configuration of a container of this name,
// with the launch's directory as the lxc path.
func (c container) file() string { return filepath.Join(c.launch.Dir, c.launch.ID, "config") }

// args are the arguments of lxc-execute or lxc-start.
func (c container) args() []string {
	path := c.launch.Dir
	if c.unprivileged() { // its users must reach that too
		path = runtimeDir
	}
	args := []string{
		"--name", c.launch.ID, "--lxcpath", path, "--rcfile", c.file(),
		"--logfile", c.log(), "--logpriority", "WARN",
	}
	if c.boots() {
		return append(append(args, "--foreground", "--", launch.Init), launch.InitArgs(c.v2)...)
	}
	return append(args, "--", agentInside, "serve")
}

// checkPaths refuses paths that a configuration or an overlay mount cannot name.
func (c container) checkPaths() error {
	for _, p := range []string{c.image, c.agent, c.launch.Dir} {
		if strings.ContainsAny(p, " \t\n:,\\\"#") || !filepath.IsAbs(p) {
			return fmt.Errorf("path %q: LXC cannot name it: %w%w", p, bench.ErrInvalid,
				bench.Hint("use an absolute path without blanks, colons, commas, quotes and backslashes"))
		}
	}
	return nil
}

// config is the container's configuration, lxc.container.conf(5), and what of
// the shape it leaves unenforced: limits for which has finds no control file.
func (c container) config(has func(controller, file string) bool) (text string, unenforced []string) {
	var b strings.Builder
	set := func(key, value string) { fmt.Fprintf(&b, "%s = %s\n", key, value) }
	set("lxc.include", shared)
	if c.unprivileged() {
		set("lxc.include", sharedUserns)
		for _, kind := range []string{"u", "g"} {
			set("lxc.idmap", fmt.Sprintf("%s 0 %d %d", kind, launch.FirstID, launch.IDs))
		}
	}
	set("lxc.environment", "PATH="+launch.SearchPath(""))
	set("lxc.uts.name", c.launch.ID)
	root, scratch, agent, port := c.sources()
	set("lxc.rootfs.path", root)
	set("lxc.mount.entry", agent+" "+agentInside[1:]+" none bind,ro,create=file 0 0")
	set("lxc.mount.entry", scratch+" "+bench.ScratchDir[1:]+" none bind,create=dir 0 0")
	if c.boots() {
		set("lxc.mount.entry", port+" "+launch.PortInside[1:]+" none bind,create=dir 0 0")
		set("lxc.console.path", "none")
		set("lxc.tty.max", "0")
	}
	set("lxc.cgroup.dir", c.group)
	version := "lxc.cgroup."
	if c.v2 {
		version = "lxc.cgroup2."
	}
	if c.disk == (cgroup.Disk{}) {
		unenforced = append(unenforced, cgroup.Throttles(c.launch.Shape)...)
	}
	for _, l := range limits(c.launch.Shape, c.launch.CPUSet, c.disk, c.v2) {
		if has(l.controller, l.file) {
			set(version+l.file, l.value)
		} else {
			unenforced = append(unenforced, l.what)
		}
	}
	switch c.launch.Options["net"] {
	case "veth":
		set("lxc.net.0.type", "veth")
		set("lxc.net.0.link", c.bridge)
		set("lxc.net.0.flags", "up")
		set("lxc.net.0.hwaddr", c.lease.MAC)
		set("lxc.net.0.ipv4.address", c.lease.Addr.String())
		set("lxc.net.0.ipv4.gateway", c.lease.Gateway.String())
	case "host":
		set("lxc.net.0.type", "none")
	case "none":
		set("lxc.net.0.type", "empty")
	}
	return b.String(), unenforced
}

// limit is one control file's value.
type limit struct{ what, controller, file, value string }

// limits are the shape's limits on the container's own cgroup, but those of
// [cgroup.LimitsAbove].
func limits(s bench.Shape, cpus []int, disk cgroup.Disk, v2 bool) []limit {
	list := []limit{{"cpu set", "cpuset", "cpuset.cpus", cgroup.CPUList(cpus)}}
	q, p := s.Bandwidth()
	quota, period := strconv.FormatInt(q, 10), strconv.FormatInt(p, 10)
	memory := strconv.FormatInt(int64(s.Memory), 10)
	if v2 {
		if s.CPUQuota > 0 {
			list = append(list, limit{"cpu quota", "cpu", "cpu.max", quota + " " + period})
		}
		list = append(list, limit{"memory limit", "memory", "memory.max", memory},
			limit{"swap limit", "memory", "memory.swap.max", strconv.FormatInt(int64(s.Swap), 10)})
	} else {
		if s.CPUQuota > 0 {
			list = append(list, limit{"cpu quota", "cpu", "cpu.cfs_period_us", period},
				limit{"cpu quota", "cpu", "cpu.cfs_quota_us", quota})
		}
		list = append(list, limit{"memory limit", "memory", "memory.limit_in_bytes", memory},
			limit{"swap limit", "memory", "memory.memsw.limit_in_bytes", strconv.FormatInt(int64(s.Memory+s.Swap), 10)})
	}
	if disk != (cgroup.Disk{}) {
		for _, c := range disk.Throttle(s, v2) {
			list = append(list, limit{strings.Join(cgroup.Throttles(s), ", "), "blkio", c.File, c.Value})
		}
	}
	if s.Pids > 0 {
		list = append(list, limit{"pids limit", "pids", "pids.max", strconv.Itoa(s.Pids)})
	}
	return list
}

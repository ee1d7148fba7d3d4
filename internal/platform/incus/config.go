package incus

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/cgroup"
	"tare/internal/platform/launch"
)

// container is all that a container's configuration is made of.
type container struct {
	launch               bench.Launch
	agent, scratch, port string // on the host
	group                string // to make its control groups in, relative to each hierarchy
	bridge               string
	lease                bench.Lease // with net=veth
	disk                 cgroup.Disk // under the scratch space
	v2                   bool
}

// configuration is what Incus takes on standard input for a new instance.
type configuration struct {
	Config  map[string]string            `json:"config"`
	Devices map[string]map[string]string `json:"devices"`
}

func (c container) boots() bool { return c.launch.Options["init"] == "systemd" }

// name is the container's: Incus wants a letter first.
func (c container) name() string { return "t" + c.launch.ID }

// encode is the configuration in JSON, which is YAML, and what of the shape it leaves unenforced:
// limits for which has finds no control file.
func (c container) encode(has func(controller, v1, v2 string) bool) (text []byte, unenforced []string, err error) {
	// Owners on disk are shifted by the mount below the container's layer: without
	// this, Incus would change that of each file.
	ids := fmt.Sprintf(`[{"Isuid":true,"Isgid":false,"Hostid":%d,"Nsid":0,"Maprange":%d},{"Isuid":false,"Isgid":true,"Hostid":%[1]d,"Nsid":0,"Maprange":%d}]`,
		launch.FirstID, launch.IDs)
	conf := configuration{
		Config: map[string]string{
			"security.idmap.base": strconv.Itoa(launch.FirstID), "security.idmap.size": strconv.Itoa(launch.IDs),
			"volatile.last_state.idmap": ids,
			"environment.PATH":          launch.SearchPath(""),
			"raw.lxc":                   c.raw(),
		},
		Devices: map[string]map[string]string{
			"agent":   {"type": "disk", "source": c.agent, "path": launch.AgentInside, "readonly": "true"},
			"port":    {"type": "disk", "source": c.port, "path": launch.PortInside},
			"scratch": {"type": "disk", "source": c.scratch, "path": bench.ScratchDir},
		},
	}
	if c.launch.Options["net"] == "veth" {
		conf.Devices["eth0"] = map[string]string{"type": "nic", "nictype": "bridged", "parent": c.bridge, "hwaddr": c.lease.MAC}
	}
	for _, l := range c.limits() {
		if !has(l.controller, l.v1, l.v2) {
			unenforced = append(unenforced, l.what)
			continue
		}
		at := conf.Config
		if l.device != "" {
			at = conf.Devices[l.device]
		}
		for _, key := range l.keys {
			at[key] = l.value
		}
	}
	text, err = json.MarshalIndent(conf, "", "\t")
	return text, unenforced, err
}

// raw is what Incus has no word of its own for (lxc.container.conf(5)): it puts the
// containers of all daemons into one control group, boots whatever is at /sbin/init
// and leaves addresses to DHCP.
func (c container) raw() string {
	init := append([]string{launch.AgentInside}, "serve", "--port", launch.PortInside+"/"+launch.Socket)
	if c.boots() {
		init = append([]string{launch.Init}, launch.InitArgs(c.v2)...)
	}
	lines := []string{"lxc.cgroup.dir = " + c.group, "lxc.init.cmd = " + strings.Join(init, " ")}
	if c.launch.Options["net"] == "veth" {
		lines = append(lines, "lxc.net.0.ipv4.address = "+c.lease.Addr.String(), "lxc.net.0.ipv4.gateway = "+c.lease.Gateway.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

// limit is one limit in Incus's words and the control file that it will write, by version.
type limit struct {
	what, controller, v1, v2 string
	device                   string // whose key it is, "" for the container's
	keys                     []string
	value                    string
}

// unknown is a control file that no host has.
const unknown = "none"

// limits are the shape's but those of [cgroup.LimitsAbove]. Swap is allowed or not; how much is
// not for Incus to say.
func (c container) limits() []limit {
	s := c.launch.Shape
	list := []limit{
		{"cpu set", "cpuset", "cpuset.cpus", "cpuset.cpus", "", []string{"limits.cpu"}, cpuList(c.launch.CPUSet)},
		{"memory limit", "memory", "memory.limit_in_bytes", "memory.max", "", []string{"limits.memory"}, strconv.FormatInt(int64(s.Memory), 10)},
		{"swap limit", "memory", "memory.memsw.limit_in_bytes", "memory.swap.max", "", []string{"limits.memory.swap"}, "false"},
	}
	if s.Swap > 0 {
		list[2].v1, list[2].v2 = unknown, unknown
	}
	if s.CPUQuota > 0 {
		list = append(list, limit{"cpu quota", "cpu", "cpu.cfs_quota_us", "cpu.max", "", []string{"limits.cpu.allowance"}, allowance(s)})
	}
	if s.Pids > 0 {
		list = append(list, limit{"pids limit", "pids", "pids.max", "pids.max", "", []string{"limits.processes"}, strconv.Itoa(s.Pids)})
	}
	if s.DiskIOPS > 0 {
		l := limit{cgroup.DiskRate, "blkio", "blkio.throttle.read_iops_device", "io.max", "scratch",
			[]string{"limits.read", "limits.write"}, strconv.Itoa(s.DiskIOPS) + "iops"}
		if c.disk == (cgroup.Disk{}) { // nothing to hold
			l.v1, l.v2 = unknown, unknown
		}
		list = append(list, l)
	}
	return list
}

// cpuList names CPUs as Incus wants them: a number alone would be how many.
func cpuList(cpus []int) string {
	if len(cpus) == 1 {
		return fmt.Sprintf("%d-%[1]d", cpus[0])
	}
	return cgroup.CPUList(cpus)
}

// allowance is the shape's bandwidth in whole milliseconds; a quota that is none
// in the usual period is one in a longer one.
func allowance(s bench.Shape) string {
	quota, period := s.Bandwidth() // microseconds
	if quota%1000 != 0 {
		quota, period = quota*10, period*10
	}
	return fmt.Sprintf("%dms/%dms", (quota+500)/1000, period/1000)
}

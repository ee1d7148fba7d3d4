package incus

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
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
		if has(l.controller, l.v1, l.v2) {
			conf.Config[l.key] = l.value
		} else {
			unenforced = append(unenforced, l.what)
		}
	}
	var rates []cgroup.Control
	if c.disk != (cgroup.Disk{}) && has("blkio", "blkio.throttle.read_iops_device", "io.max") {
		rates = c.disk.Throttle(c.launch.Shape, c.v2)
	} else {
		unenforced = append(unenforced, cgroup.Throttles(c.launch.Shape)...)
	}
	conf.Config["raw.lxc"] = c.raw(rates)
	text, err = json.MarshalIndent(conf, "", "\t")
	return text, unenforced, err
}

// raw is what Incus has no word of its own for (lxc.container.conf(5)): it puts the
// containers of all daemons into one control group, boots whatever is at /sbin/init
// and leaves addresses to DHCP. It has words for the disk's rate (limits.read of a device), after
// which now and then no rate was in force.
func (c container) raw(rates []cgroup.Control) string {
	init := append([]string{launch.AgentInside}, "serve", "--port", launch.PortInside+"/"+launch.Socket)
	if c.boots() {
		init = append([]string{launch.Init}, launch.InitArgs(c.v2)...)
	}
	lines := []string{"lxc.cgroup.dir = " + c.group, "lxc.init.cmd = " + strings.Join(init, " ")}
	if c.launch.Options["net"] == "veth" {
		lines = append(lines, "lxc.net.0.ipv4.address = "+c.lease.Addr.String(), "lxc.net.0.ipv4.gateway = "+c.lease.Gateway.String())
	}
	version := "lxc.cgroup."
	if c.v2 {
		version = "lxc.cgroup2."
	}
	for _, r := range rates {
		lines = append(lines, version+r.File+" = "+r.Value)
	}
	return strings.Join(lines, "\n") + "\n"
}

// limit is one limit in Incus's words and the control file that it will write, by version.
type limit struct{ what, controller, v1, v2, key, value string }

// unknown is a control file that no host has.
const unknown = "none"

// limits are the shape's but those of [cgroup.LimitsAbove] and the disk's. Swap is allowed or not; how
// much is not for Incus to say.
func (c container) limits() []limit {
	s := c.launch.Shape
	swap := limit{"swap limit", "memory", "memory.memsw.limit_in_bytes", "memory.swap.max", "limits.memory.swap", "false"}
	if s.Swap > 0 {
		swap.v1, swap.v2 = unknown, unknown
	}
	list := []limit{
		{"cpu set", "cpuset", "cpuset.cpus", "cpuset.cpus", "limits.cpu", cpuList(c.launch.CPUSet)},
		{"memory limit", "memory", "memory.limit_in_bytes", "memory.max", "limits.memory", strconv.FormatInt(int64(s.Memory), 10)},
		swap,
	}
	if s.CPUQuota > 0 {
		list = append(list, limit{"cpu quota", "cpu", "cpu.cfs_quota_us", "cpu.max", "limits.cpu.allowance", allowance(s)})
	}
	if s.Pids > 0 {
		list = append(list, limit{"pids limit", "pids", "pids.max", "pids.max", "limits.processes", strconv.Itoa(s.Pids)})
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

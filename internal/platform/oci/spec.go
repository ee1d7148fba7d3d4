package oci

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// agentInside is where the agent lies inside a container.
const agentInside = "/.tare-agent"

// capabilities are those Docker gives a container by default: a workload finds
// itself as privileged in either.
var capabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// container is all a specification is made of.
type container struct {
	launch bench.Launch
	agent  string
	group  string // relative to each hierarchy
	netns  string // to join; "" for the one the runtime is started in
	disk   cgroup.Disk
}

func (c container) scratch() string { return filepath.Join(c.launch.Dir, "scratch") }

// spec is the container's config.json; limits for which has finds no control
// file are left out and returned.
func (c container) spec(has func(controller, v1, v2 string) bool) (s specs.Spec, unenforced []string) {
	s = specs.Spec{
		Version:  "1.0.2", // what the oldest runtimes in use know
		Hostname: c.launch.ID,
		Root:     &specs.Root{Path: filepath.Join(c.launch.Dir, "rootfs")},
		Mounts:   c.mounts(),
		Process: &specs.Process{
			Args: []string{agentInside, "serve"}, Cwd: "/",
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Capabilities: &specs.LinuxCapabilities{
				Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
			},
		},
		Linux: &specs.Linux{
			CgroupsPath: "/" + bench.CgroupRoot + "/" + c.group,
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
			},
			MaskedPaths: []string{
				"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
				"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
			},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	switch {
	case c.netns != "":
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: c.netns})
	case c.launch.Options["net"] == "none":
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace})
	}
	res := &specs.LinuxResources{
		Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}, // the runtime adds the usual ones
		CPU:     &specs.LinuxCPU{},
	}
	for _, l := range limits(c.launch.Shape, c.launch.CPUSet, c.disk) {
		if l.set == nil || !has(l.controller, l.v1, l.v2) {
			unenforced = append(unenforced, l.what)
		} else {
			l.set(res)
		}
	}
	s.Linux.Resources = res
	return s, unenforced
}

func (c container) mounts() []specs.Mount {
	list := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: agentInside, Type: "bind", Source: c.agent, Options: []string{"bind", "ro"}},
	}
	if c.launch.Options["storage"] == "bind" {
		list = append(list, specs.Mount{Destination: bench.ScratchDir, Type: "bind", Source: c.scratch(), Options: []string{"bind", "rw"}})
	}
	return list
}

// limit is one limit of the container's own cgroup and the control file that
// the runtime will write, by version.
type limit struct {
	what, controller, v1, v2 string
	set                      func(*specs.LinuxResources) // nil if there is nothing to set it on
}

// limits are the shape's limits but those of [cgroup.LimitsAbove].
func limits(s bench.Shape, cpus []int, disk cgroup.Disk) []limit {
	list := []limit{{"cpu set", "cpuset", "cpuset.cpus", "cpuset.cpus",
		func(r *specs.LinuxResources) { r.CPU.Cpus = cgroup.CPUList(cpus) }}}
	if s.CPUQuota > 0 {
		quota, p := s.Bandwidth()
		period := uint64(p)
		list = append(list, limit{"cpu quota", "cpu", "cpu.cfs_quota_us", "cpu.max",
			func(r *specs.LinuxResources) { r.CPU.Quota, r.CPU.Period = &quota, &period }})
	}
	memory, both := int64(s.Memory), int64(s.Memory+s.Swap)
	list = append(list,
		limit{"memory limit", "memory", "memory.limit_in_bytes", "memory.max",
			func(r *specs.LinuxResources) { r.Memory = &specs.LinuxMemory{Limit: &memory} }},
		limit{"swap limit", "memory", "memory.memsw.limit_in_bytes", "memory.swap.max",
			func(r *specs.LinuxResources) { r.Memory.Swap = &both }})
	for _, what := range cgroup.Throttles(s) {
		l := limit{what: what, controller: "blkio", v1: "blkio.throttle.read_iops_device", v2: "io.max"}
		if disk != (cgroup.Disk{}) {
			l.set = func(r *specs.LinuxResources) { r.BlockIO = throttle(disk, s) }
		}
		list = append(list, l)
	}
	if s.Pids > 0 {
		most := int64(s.Pids)
		list = append(list, limit{"pids limit", "pids", "pids.max", "pids.max",
			func(r *specs.LinuxResources) { r.Pids = &specs.LinuxPids{Limit: &most} }})
	}
	return list
}

// throttle holds reads and writes on the disk to so many operations and bytes per second each.
func throttle(disk cgroup.Disk, s bench.Shape) *specs.LinuxBlockIO {
	var rate specs.LinuxThrottleDevice
	major, minor, _ := strings.Cut(disk.Number, ":")
	rate.Major, _ = strconv.ParseInt(major, 10, 64) // the kernel's own numbers
	rate.Minor, _ = strconv.ParseInt(minor, 10, 64)
	at := func(most int64) []specs.LinuxThrottleDevice {
		if most == 0 {
			return nil
		}
		rate.Rate = uint64(most)
		return []specs.LinuxThrottleDevice{rate}
	}
	iops, bytes := at(int64(s.DiskIOPS)), at(int64(s.DiskBandwidth))
	return &specs.LinuxBlockIO{ThrottleReadIOPSDevice: iops, ThrottleWriteIOPSDevice: iops, ThrottleReadBpsDevice: bytes, ThrottleWriteBpsDevice: bytes}
}

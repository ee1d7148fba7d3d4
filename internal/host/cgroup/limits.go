package cgroup

import (
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// Limits are the limits of a group. Zero values mean no limit.
type Limits struct {
	CPUSet     []int
	Nodes      string        // that memory comes from, as the kernel lists them
	Quota      float64       // CPU seconds per second
	Period     time.Duration // the period of the quota; 0 is the kernel's default
	Weight     int           // v2's scale, 1 to 10000
	Memory     bench.Bytes
	MemorySoft bench.Bytes
	Swap       bench.Bytes // beyond Memory
	Pids       int
	DiskIOPS   int // reads, and writes, per second on Disk
	// DiskBandwidth is bytes read, and written, per second on Disk. DiskWeight is on BFQ's scale, 1
	// to 1000.
	DiskBandwidth bench.Bytes
	DiskWeight    int
	Disk          Disk // as [DiskOf] finds it
	// HandDown: groups made in it begin with its CPUs, also on v1, where a cpuset takes no
	// process before it has some, and a platform may fill them in only where they are the parent's.
	HandDown bool
}

// LimitsOf returns the shape as limits of one group on the given host CPUs.
func LimitsOf(s bench.Shape, cpus []int) Limits {
	return Limits{
		CPUSet: cpus, Nodes: s.MemoryNodes, Quota: s.CPUQuota, Period: s.CPUPeriod, Weight: s.CPUWeight,
		Memory: s.Memory, MemorySoft: s.MemorySoft, Swap: s.Swap, Pids: s.Pids,
		DiskIOPS: s.DiskIOPS, DiskBandwidth: s.DiskBandwidth, DiskWeight: s.DiskWeight,
	}
}

// LimitsAbove returns the limits of a group whose child group gets the other limits from a
// platform. At this level the instances of all platforms are siblings, so the weights belong here.
func LimitsAbove(s bench.Shape, cpus []int, disk Disk) Limits {
	return Limits{
		CPUSet: cpus, Nodes: s.MemoryNodes, Weight: s.CPUWeight, MemorySoft: s.MemorySoft,
		DiskWeight: s.DiskWeight, Disk: disk,
	}
}

// SharesOf converts a v2 weight to v1's cpu.shares so that the scheduler gives both the same
// weight. The kernel turns a v2 weight w into w*1024/100 (kernel/sched/core.c,
// sched_weight_from_cgroup). v1's shares are that number itself. The kernel's bounds are 2 and
// 262144.
func SharesOf(weight int) int {
	return min(max((weight*1024+50)/100, 2), 262144)
}

// CPUList formats CPUs for cpuset files and programs' options: "0,2,3".
func CPUList(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	return strings.Join(words, ",")
}

// A knob is one limit with its control files in v1 and v2.
type knob struct {
	what       string // its name for messages
	controller string
	v1, v2     []setting
}

type setting struct{ file, value string }

// The names of knobs in lists of unenforced limits.
const (
	cpuSet     = "cpu set"
	cpuQuota   = "cpu quota"
	cpuWeight  = "cpu weight"
	memory     = "memory limit"
	swap       = "swap limit" // matters only on a host that has swap
	memorySoft = "soft memory limit"
	pids       = "pids limit"
	// These are also for drivers that set the limits themselves.
	DiskRate      = "disk rate limit"
	DiskBandwidth = "disk bandwidth limit"
	diskWeight    = "disk weight"
)

// knobs returns the limits in the order they must be written. A soft limit becomes memory.low on
// v2, the amount that reclaim spares under pressure. memory.high would throttle the group even if
// the host has free memory.
func (l Limits) knobs() []knob {
	var list []knob
	if len(l.CPUSet) > 0 {
		cpus := []setting{{"cpuset.cpus", CPUList(l.CPUSet)}}
		list = append(list, knob{cpuSet, "cpuset", cpus, cpus})
	}
	if l.Nodes != "" {
		nodes := []setting{{"cpuset.mems", l.Nodes}}
		list = append(list, knob{bench.MemoryNodes, "cpuset", nodes, nodes})
	}
	if l.Quota > 0 {
		q, p := bench.Shape{CPUQuota: l.Quota, CPUPeriod: l.Period}.Bandwidth()
		quota, period := strconv.FormatInt(q, 10), strconv.FormatInt(p, 10)
		list = append(list, knob{cpuQuota, "cpu",
			[]setting{{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", quota}},
			[]setting{{"cpu.max", quota + " " + period}}})
	}
	if l.Weight > 0 {
		list = append(list, knob{cpuWeight, "cpu",
			[]setting{{"cpu.shares", strconv.Itoa(SharesOf(l.Weight))}},
			[]setting{{"cpu.weight", strconv.Itoa(l.Weight)}}})
	}
	if l.Memory > 0 {
		limit, both := strconv.FormatInt(int64(l.Memory), 10), strconv.FormatInt(int64(l.Memory+l.Swap), 10)
		list = append(list,
			knob{memory, "memory", []setting{{"memory.limit_in_bytes", limit}}, []setting{{"memory.max", limit}}},
			knob{swap, "memory", []setting{{"memory.memsw.limit_in_bytes", both}}, []setting{{"memory.swap.max", strconv.FormatInt(int64(l.Swap), 10)}}})
	}
	if l.MemorySoft > 0 {
		soft := strconv.FormatInt(int64(l.MemorySoft), 10)
		list = append(list, knob{memorySoft, "memory",
			[]setting{{"memory.soft_limit_in_bytes", soft}}, []setting{{"memory.low", soft}}})
	}
	if l.Pids > 0 {
		most := []setting{{"pids.max", strconv.Itoa(l.Pids)}}
		list = append(list, knob{pids, "pids", most, most})
	}
	if l.DiskIOPS > 0 {
		list = append(list, l.Disk.knob(DiskRate, l.Disk.Rates(l.DiskIOPS, false), l.Disk.Rates(l.DiskIOPS, true)))
	}
	if l.DiskBandwidth > 0 {
		list = append(list, l.Disk.knob(DiskBandwidth, l.Disk.bandwidth(l.DiskBandwidth, false), l.Disk.bandwidth(l.DiskBandwidth, true)))
	}
	if l.DiskWeight > 0 {
		list = append(list, l.Disk.weight(l.DiskWeight))
	}
	return list
}

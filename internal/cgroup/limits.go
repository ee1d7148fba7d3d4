package cgroup

import (
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// Limits are what a group is held to; zero values limit nothing.
type Limits struct {
	CPUSet     []int
	Quota      float64       // CPUs' worth of time per second
	Period     time.Duration // how often the quota is given out; 0 is the kernel's default
	Weight     int           // v2's scale, 1 to 10000
	Memory     bench.Bytes
	MemorySoft bench.Bytes
	Swap       bench.Bytes // beyond Memory
	Pids       int
	DiskIOPS   int // reads, and writes, per second on Disk
	// DiskBandwidth is bytes read, and written, per second on Disk; DiskWeight is on BFQ's scale, 1 to 1000.
	DiskBandwidth bench.Bytes
	DiskWeight    int
	Disk          Disk // as [DiskOf] finds it
}

// LimitsOf is the shape as limits of one group, on the given host CPUs.
func LimitsOf(s bench.Shape, cpus []int) Limits {
	return Limits{
		CPUSet: cpus, Quota: s.CPUQuota, Period: s.CPUPeriod, Weight: s.CPUWeight,
		Memory: s.Memory, MemorySoft: s.MemorySoft, Swap: s.Swap, Pids: s.Pids,
		DiskIOPS: s.DiskIOPS, DiskBandwidth: s.DiskBandwidth, DiskWeight: s.DiskWeight,
	}
}

// LimitsAbove are what a group holds that has one more below it, in which a
// platform sets the rest: that is where instances of all platforms are siblings,
// and share.
func LimitsAbove(s bench.Shape, cpus []int, disk Disk) Limits {
	return Limits{
		CPUSet: cpus, Weight: s.CPUWeight, MemorySoft: s.MemorySoft,
		DiskWeight: s.DiskWeight, Disk: disk,
	}
}

// SharesOf converts a v2 weight to v1's cpu.shares so that the scheduler gives
// both the same weight: the kernel turns a v2 weight w into w*1024/100
// (kernel/sched/core.c, sched_weight_from_cgroup), and v1's shares are that
// number itself. The kernel's bounds are 2 and 262144.
func SharesOf(weight int) int {
	return min(max((weight*1024+50)/100, 2), 262144)
}

// CPUList writes CPUs as cpuset files and programs' options take them: "0,2,3".
func CPUList(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	return strings.Join(words, ",")
}

// A knob is one limit with the control files that set it in either version.
type knob struct {
	what       string // for people, when it cannot be enforced
	controller string
	v1, v2     []setting
}

type setting struct{ file, value string }

// What the knobs are called when they are unenforced.
const (
	cpuSet     = "cpu set"
	cpuQuota   = "cpu quota"
	cpuWeight  = "cpu weight"
	memory     = "memory limit"
	swap       = "swap limit" // matters only on a host that has swap
	memorySoft = "soft memory limit"
	pids       = "pids limit"
	// Also for drivers that set these themselves.
	DiskRate      = "disk rate limit"
	DiskBandwidth = "disk bandwidth limit"
	diskWeight    = "disk weight"
)

// knobs returns the limits in the order they must be written. A soft limit
// becomes memory.low on v2, the amount that reclaim leaves alone under
// pressure; memory.high would throttle the group although the host has memory
// to spare.
func (l Limits) knobs() []knob {
	var list []knob
	if len(l.CPUSet) > 0 {
		cpus := []setting{{"cpuset.cpus", CPUList(l.CPUSet)}}
		list = append(list, knob{cpuSet, "cpuset", cpus, cpus})
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

package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is an amount of memory or storage in bytes.
type Bytes int64

// The binary multiples in which sizes are written: 512 MiB is 512 * MiB.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// String writes b with the largest binary unit that keeps it exact to two
// decimals, such as "1.5 GiB".
func (b Bytes) String() string {
	for _, u := range []struct {
		size Bytes
		name string
	}{{TiB, "TiB"}, {GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}} {
		if b >= u.size || -b >= u.size {
			v := strconv.FormatFloat(float64(b)/float64(u.size), 'f', 2, 64)
			v = strings.TrimRight(strings.TrimRight(v, "0"), ".")
			return v + " " + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + " B"
}

// ParseBytes parses a size such as "512MiB", "1.5 GiB", "10GB" or "4096". A bare number is in
// bytes. KB to TB are decimal, KiB to TiB binary.
func ParseBytes(s string) (Bytes, error) {
	t := strings.TrimSpace(s)
	i := len(t)
	for i > 0 && (t[i-1] < '0' || t[i-1] > '9') && t[i-1] != '.' {
		i--
	}
	unit, ok := map[string]float64{
		"": 1, "B": 1,
		"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": float64(KiB), "MiB": float64(MiB), "GiB": float64(GiB), "TiB": float64(TiB),
	}[strings.TrimSpace(t[i:])]
	if !ok {
		return 0, fmt.Errorf("size %q: unknown unit %q: %w", s, strings.TrimSpace(t[i:]),
			Hint("write a number with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 512MiB"))
	}
	n, err := strconv.ParseFloat(t[:i], 64)
	if err != nil || strings.ContainsAny(t[:i], "eExXpP_") {
		return 0, fmt.Errorf("size %q: not a number: %w", s, Hint("write it like 512MiB"))
	}
	if n < 0 {
		return 0, fmt.Errorf("size %q: must not be negative", s)
	}
	if n*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("size %q: too large", s)
	}
	return Bytes(n * unit), nil
}

// Shape holds an instance's resources. It is the same for every platform of an experiment. A limit
// that a platform cannot enforce is reported beside its result.
type Shape struct {
	// CPUs is how many CPUs the instance may run on (a VM's vCPU count).
	CPUs int `json:"cpus"`
	// CPUQuota bounds the CPU time per second of wall time, in CPUs; 0 means unbounded.
	CPUQuota float64 `json:"cpu_quota,omitempty"`
	// CPUPeriod is the period of the quota; 0 is the kernel's default, 100 ms.
	CPUPeriod time.Duration `json:"cpu_period,omitempty"`
	// CPUWeight is the share under contention on cgroup v2's scale, 1 to 10000; 0 is the default (100).
	CPUWeight int `json:"cpu_weight,omitempty"`
	// Memory is the hard limit (a VM's RAM).
	Memory Bytes `json:"memory"`
	// MemorySoft is the amount the kernel reclaims down to under pressure; 0 is none.
	MemorySoft Bytes `json:"memory_soft,omitempty"`
	// MemoryNodes are the NUMA nodes of the host that its memory comes from, as the kernel lists them
	// ("0,1"); "" is any.
	MemoryNodes string `json:"memory_nodes,omitempty"`
	// Swap is how much it may swap out beyond its memory, if the host has swap space; 0 is none.
	Swap Bytes `json:"swap,omitempty"`
	// Disk is the size of the scratch space mounted at [ScratchDir].
	Disk Bytes `json:"disk"`
	// DiskIOPS bounds the reads, and the writes, per second on the disk of the
	// scratch space; 0 is unbounded.
	DiskIOPS int `json:"disk_iops,omitempty"`
	// DiskBandwidth bounds the bytes read, and the bytes written, per second on
	// that disk; 0 is unbounded.
	DiskBandwidth Bytes `json:"disk_bandwidth,omitempty"`
	// DiskWeight is the share of that disk under contention, 1 to 1000; 0 is the default (100).
	// Only the BFQ scheduler uses it.
	DiskWeight int `json:"disk_weight,omitempty"`
	// Pids bounds the number of tasks; 0 is unbounded.
	Pids int `json:"pids,omitempty"`
}

// DiskSize is what an instance calls the limit on the size of its scratch space.
const DiskSize = "disk size"

// MemoryNodes is what an instance calls the limit on the nodes that its memory comes from.
const MemoryNodes = "memory nodes"

// Bandwidth returns the CPU quota in the kernel's form: microseconds of CPU time per period in
// microseconds. The kernel's least quota is 1 ms.
func (s Shape) Bandwidth() (quota, period int64) {
	period = max(s.CPUPeriod, 0).Microseconds()
	if period == 0 {
		period = 100_000
	}
	return max(int64(s.CPUQuota*float64(period)+0.5), 1000), period
}

// ScratchDir is the mount point of every instance's writable scratch space, which is on the disk
// under test.
const ScratchDir = "/scratch"

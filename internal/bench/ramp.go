package bench

import "time"

// Ramp is how the number of idle instances grows: in steps of launches. Each step is followed by a
// warm-up, in which it settles, and a measurement of its memory and CPU time. The ramp ends at To
// instances or at a limit.
type Ramp struct {
	To    int       `json:"to"`
	Step  int       `json:"step"`
	Until RampUntil `json:"until"`
}

// RampUntil holds the limits at which a ramp ends before its count.
type RampUntil struct {
	// Memory is the share of the host's memory in use (1 - MemAvailable / MemTotal).
	Memory float64 `json:"memory"`
	// Pids is the share of the kernel's task limit in use; 0 for no bound.
	Pids float64 `json:"pids,omitempty"`
	// Time since the first launch; 0 for no bound.
	Time time.Duration `json:"time,omitempty"`
}

// Limit is what ended a ramp.
type Limit string

const (
	LimitCount  Limit = "count"  // the declared number is up
	LimitMemory Limit = "memory" // the host's memory in use
	LimitPids   Limit = "pids"   // the host's tasks
	LimitTime   Limit = "time"
	LimitLaunch Limit = "launch" // a further instance did not start
)

// The ways to measure the memory of instances. None is exact. The kernel charges a shared page to
// the first toucher. RSS counts it once for each process. PSS divides it among them. The host's
// totals do not say who uses it.
const (
	// DensityPSS sums Pss of /proc/PID/smaps_rollup over all processes of the instances and all
	// that serve them, daemons included. Processes that share one address space count once. It
	// excludes kernel memory.
	DensityPSS = "pss"
	// DensityRSS sums Rss of the same processes (tesfatsion2018 section 4.6).
	DensityRSS = "rss"
	// DensityCgroup is what the kernel charges to the instances' control groups. It includes page
	// cache and kernel memory. It excludes the processes that serve them from outside.
	DensityCgroup = "cgroup"
	// DensityCgroupHeld is the same without the file cache, which the kernel can drop. It includes
	// tmpfs, which the kernel cannot drop.
	DensityCgroupHeld = "cgroup_held"
	// DensityAvailable is the fall of the host's MemAvailable since before the first launch.
	DensityAvailable = "host_available"
	// DensityUsed is the growth of its memory in use: MemTotal less MemFree, Buffers, Cached and
	// SReclaimable, plus Shmem.
	DensityUsed = "host_used"
)

// DensityMeters lists their names in display order.
var DensityMeters = []string{DensityPSS, DensityRSS, DensityCgroup, DensityCgroupHeld, DensityAvailable, DensityUsed}

// Density is the result of a ramp. The start-up of each launch is with its actor.
type Density struct {
	Steps []DensityStep `json:"steps"`
	// Limit ended the ramp, and Why says it in words.
	Limit Limit  `json:"limit"`
	Why   string `json:"why"`
	// Instances is the number that were up when it ended.
	Instances int `json:"instances"`
}

// DensityStep is one step of a ramp: a number of instances at rest.
type DensityStep struct {
	Instances int `json:"instances"`
	// Start and End bound the stretch in which it was observed, in nanoseconds of CLOCK_MONOTONIC.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Memory in bytes at End, by the names above. A value that could not be read is absent.
	Memory map[string]float64 `json:"memory"`
	// CPU is the use in cores over the stretch, of the instances' control groups and of the
	// processes that serve them from outside. It is absent if unknown.
	CPU *float64 `json:"cpu,omitempty"`
	// HostCPU is the use of all the host's tasks meanwhile, in cores, the observer included.
	HostCPU *float64 `json:"host_cpu,omitempty"`
	// Observer is the use of Tare's own process meanwhile, in cores. It only samples then.
	Observer *float64 `json:"observer_cpu,omitempty"`
	// Processes is the number counted for RSS and PSS.
	Processes int `json:"processes"`
	// Merged is how many more bytes the host's samepage merging saves (pages_sharing) than before
	// the first launch.
	Merged float64 `json:"merged,omitempty"`
}

// RampMetrics are the metrics of a ramp. Memory is the slope over the number of instances: what one
// more instance takes, in MiB, by the meter named. The host's own differences are not metrics: they
// include other activity of the host, may be negative and give no ratio.
var RampMetrics = []Metric{
	{Name: "memory_pss", Unit: "MiB", Better: LowerIsBetter, Headline: true, Adds: true,
		Doc: "memory per instance: slope of the sum of Pss over the number of instances"},
	{Name: "memory_rss", Unit: "MiB", Better: LowerIsBetter, Adds: true, Doc: "the same by the sum of Rss"},
	{Name: "memory_cgroup", Unit: "MiB", Better: LowerIsBetter, Adds: true, Doc: "the same by what is charged to the control groups"},
	{Name: "memory_cgroup_held", Unit: "MiB", Better: LowerIsBetter, Adds: true, Doc: "the same without the cache of files"},
	{Name: "time_to_first_command", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Adds: true,
		Doc: "mean over the instances of the time from the platform's own start command to the exit of the first command (/bin/true) run inside"},
}

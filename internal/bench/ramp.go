package bench

import "time"

// Ramp is how a crowd of idle instances grows: steps of launches, each followed
// by warm-up (it settles) and measurement (its memory and CPU time are read),
// until there are To or a limit is reached.
type Ramp struct {
	To    int       `json:"to"`
	Step  int       `json:"step"`
	Until RampUntil `json:"until"`
}

// RampUntil are the limits at which a ramp ends before its count.
type RampUntil struct {
	// Memory is the share of the host's memory in use (1 - MemAvailable / MemTotal).
	Memory float64 `json:"memory"`
	// Pids is the share in use of the tasks the kernel allows; 0 for no bound.
	Pids float64 `json:"pids,omitempty"`
	// Time since the first launch; 0 for no bound.
	Time time.Duration `json:"time,omitempty"`
}

// Limit is what ended a ramp.
type Limit string

const (
	LimitCount  Limit = "count"  // as many as were declared
	LimitMemory Limit = "memory" // the host's memory in use
	LimitPids   Limit = "pids"   // the host's tasks
	LimitTime   Limit = "time"
	LimitLaunch Limit = "launch" // one more did not start
)

// The ways to say how much memory a crowd takes. None is the truth: the kernel
// charges a shared page to whoever touched it first, RSS counts it once for
// each process, PSS divides it among them, and the host knows not for whom.
const (
	// CrowdPSS sums Pss of /proc/PID/smaps_rollup over every process of the
	// instances and of what serves them, daemons included; processes that share one memory count
	// once. Memory of the kernel is not in it.
	CrowdPSS = "pss"
	// CrowdRSS sums Rss of the same processes (tesfatsion2018 section 4.6).
	CrowdRSS = "rss"
	// CrowdCgroup is what the kernel charges to the instances' control groups:
	// with page cache and kernel memory, without what serves them from outside.
	CrowdCgroup = "cgroup"
	// CrowdCgroupHeld is the same without the cache of files, which the kernel
	// can drop; tmpfs, which it cannot, stays.
	CrowdCgroupHeld = "cgroup_held"
	// CrowdAvailable is by how much the host's MemAvailable has fallen since
	// before the first launch.
	CrowdAvailable = "host_available"
	// CrowdUsed is by how much its memory in use has grown: MemTotal less MemFree,
	// Buffers, Cached and SReclaimable, with Shmem.
	CrowdUsed = "host_used"
)

// CrowdMeters are their names in the order to show.
var CrowdMeters = []string{CrowdPSS, CrowdRSS, CrowdCgroup, CrowdCgroupHeld, CrowdAvailable, CrowdUsed}

// Crowd is what a ramp found. The start-up of each launch is with its actor.
type Crowd struct {
	Steps []CrowdStep `json:"steps"`
	// Limit ended the ramp, and Why says it in words.
	Limit Limit  `json:"limit"`
	Why   string `json:"why"`
	// Instances were up when it ended.
	Instances int `json:"instances"`
}

// CrowdStep is the crowd at one size, at rest.
type CrowdStep struct {
	Instances int `json:"instances"`
	// Start and End are of the stretch in which it was watched, CLOCK_MONOTONIC nanoseconds.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Memory in bytes at End, by the names above. What could not be read is absent.
	Memory map[string]float64 `json:"memory"`
	// CPU in cores over the stretch: of the instances' control groups and of
	// the processes that serve them from outside; absent if not known.
	CPU *float64 `json:"cpu,omitempty"`
	// HostCPU in cores is that of all the host's tasks meanwhile, the observer's included.
	HostCPU *float64 `json:"host_cpu,omitempty"`
	// Observer in cores is the CPU time of Tare's own process meanwhile, in which
	// it does nothing but sample.
	Observer *float64 `json:"observer_cpu,omitempty"`
	// Processes were counted for RSS and PSS.
	Processes int `json:"processes"`
	// Merged are bytes that the host's samepage merging saves (pages_sharing) more than before the first launch.
	Merged float64 `json:"merged,omitempty"`
}

// RampMetrics are those of a ramp. Memory is the slope over the crowd's size:
// what one more instance takes, in MiB, by the meter named. The host's own
// differences are no metrics: they hold all else that goes on, may be negative, and make no ratio.
var RampMetrics = []Metric{
	{Name: "memory_pss", Unit: "MiB", Better: LowerIsBetter, Headline: true,
		Doc: "memory per instance: slope of the sum of Pss over the number of instances"},
	{Name: "memory_rss", Unit: "MiB", Better: LowerIsBetter, Doc: "the same by the sum of Rss"},
	{Name: "memory_cgroup", Unit: "MiB", Better: LowerIsBetter, Doc: "the same by what is charged to the control groups"},
	{Name: "memory_cgroup_held", Unit: "MiB", Better: LowerIsBetter, Doc: "the same without the cache of files"},
	{Name: "first_command", Unit: "ms", Better: LowerIsBetter, Combine: Mean,
		Doc: "mean over the crowd of the time from the platform's own start command to the exit of the first command (/bin/true) run inside"},
}

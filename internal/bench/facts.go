package bench

// Names in [ActorOutcome.Facts] of what was found from outside; those found by
// the agent are listed in docs/PROTOCOL.md.
const (
	// FactReady says which event ended the launch.
	FactReady = "ready_event"
	// FactGreetingSent is when the agent began to write its greeting, nanoseconds
	// of the instance's CLOCK_MONOTONIC.
	FactGreetingSent = "greeting_sent"
	// FactCacheDropped is how much of the files that a launch reads was dropped from the
	// page cache before a cold one, and FactCacheKept what stayed, in bytes.
	FactCacheDropped = "cache_dropped_bytes"
	FactCacheKept    = "cache_kept_bytes"
	// FactHostMemoryLimit is the limit of the instance's control group, in bytes or "max".
	FactHostMemoryLimit = "host_memory_limit"
	// FactHostSwap are the host's swap spaces with their sizes, such as "/dev/sda2 8 GiB".
	FactHostSwap = "host_swap"
	// FactHostGovernor is that of the actor's CPUs, before the measurement.
	FactHostGovernor = "host_governor"
	// FactHostClockBefore and FactHostClockAfter are the frequencies of the actor's CPUs, in kHz.
	FactHostClockBefore = "host_khz_before"
	FactHostClockAfter  = "host_khz_after"
	// FactHostTemperature is that of the hottest zone after the measurement, in thousandths of a degree Celsius.
	FactHostTemperature = "host_temperature"
)

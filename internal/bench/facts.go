package bench

// Names in [ActorOutcome.Facts] of facts read from outside the instance. docs/PROTOCOL.md lists
// those that the agent reads.
const (
	// FactReady names the event that ended the launch.
	FactReady = "ready_event"
	// FactOwnKernel are the files that a machine without an agent booted, by their digests.
	FactOwnKernel = "own_kernel"
	// FactGreetingSent is when the agent began to write its greeting, in nanoseconds of the
	// instance's CLOCK_MONOTONIC.
	FactGreetingSent = "greeting_sent"
	// FactCacheDropped is how much of a launch's files was evicted from the page cache before a
	// cold launch. FactCacheKept is how much stayed. Both are in bytes.
	FactCacheDropped = "cache_dropped_bytes"
	FactCacheKept    = "cache_kept_bytes"
	// FactHostMemoryLimit is the limit of the instance's control group, in bytes or "max".
	FactHostMemoryLimit = "host_memory_limit"
	// FactHostSwap are the host's swap spaces with their sizes, such as "/dev/sda2 8 GiB".
	FactHostSwap = "host_swap"
	// FactHostGovernor is the governor of the actor's CPUs before the measurement.
	FactHostGovernor = "host_governor"
	// FactHostClockAllowed is the highest frequency that the host allowed the actor's CPUs when the
	// measurement began, in kHz.
	FactHostClockAllowed = "host_khz_allowed"
	// FactHostClock is the mean frequency of the actor's CPUs over the measured window while they
	// were at work, by their counters of cycles, in kHz. What a CPU is set to when it is idle is no
	// such thing.
	FactHostClock = "host_khz"
	// FactWire is how fast one connection carried data from here to a further host before the first
	// trial, in bits per second.
	FactWire = "wire_bits_per_s"
	// FactHostTemperature is the temperature of the hottest zone after the measurement, in
	// thousandths of a degree Celsius.
	FactHostTemperature = "host_temperature"
)

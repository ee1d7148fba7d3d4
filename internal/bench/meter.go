package bench

import "strings"

// Level is where a cost is paid.
type Level string

const (
	Guest Level = "guest" // as seen inside the instance
	// Inner and Outer are a nested instance's alone: what serves or accounts for
	// it inside the outer guest, and that guest as its own kernel sees it.
	Inner Level = "inner"
	Outer Level = "outer"
	Layer Level = "layer" // what serves or accounts for the instance on the host
	Host  Level = "host"  // the whole machine
	Power Level = "power"
)

// A Reader reads one source at one level. It starts no goroutine and keeps no
// clock: the runner owns the clock and times each read.
type Reader interface {
	// Meter names the source, such as "proc" or "cgroup".
	Meter() string
	Level() Level
	// Columns are the names of what Read fills, fixed for the reader's life.
	// Counters are cumulative and end in the unit (cpu_user_s, disk_read_bytes);
	// see the constants below.
	Columns() []string
	// Read fills values, one per column; what could not be read is NaN, never zero.
	Read(values []float64) error
	Close() error
}

// Columns that every analysis relies on. Times are cumulative seconds, traffic
// cumulative bytes or operations, memory bytes now.
const (
	ColCPUUser    = "cpu_user_s"
	ColCPUSystem  = "cpu_system_s"
	ColCPUNice    = "cpu_nice_s"
	ColCPUIdle    = "cpu_idle_s"
	ColCPUIOWait  = "cpu_iowait_s"
	ColCPUIRQ     = "cpu_irq_s"
	ColCPUSoftIRQ = "cpu_softirq_s"
	ColCPUSteal   = "cpu_steal_s"
	ColCPUGuest   = "cpu_guest_s"
	// ColCPUBusy is all time not idle, iowait or steal. Of a machine it is found
	// by subtraction and counts from an arbitrary start; see proc.CPU.
	ColCPUBusy = "cpu_busy_s"
	// ColCPUTasks is the time in which tasks ran, all of the machine's, by the
	// scheduler's clock in nanoseconds; a running task's is at most a tick of
	// the kernel old (4 ms at 250 Hz). No idle time enters it, so it is
	// independent of ColCPUBusy. Where the kernel measures interrupts
	// (IRQ_TIME_ACCOUNTING) they are not in it, elsewhere those that interrupt
	// a task are. Those that come while a CPU idles are in it nowhere.
	ColCPUTasks = "cpu_tasks_s"
	// ColIdleIRQ is the time that interrupts, soft ones included, took on CPUs
	// that ran no task, all of the machine's; it is in neither tasks' nor idle
	// time.
	ColIdleIRQ = "idle_irq_s"

	ColMemUsed  = "mem_used_bytes"  // memory in use, page cache excluded
	ColMemCache = "mem_cache_bytes" // page cache
	ColMemRSS   = "mem_rss_bytes"   // resident set of processes
	// ColMemShared is memory that processes share and no file backs: tmpfs, memfd, System V. Kernels count it as page cache.
	ColMemShared = "mem_shared_bytes"
	// ColMemCharged is all memory charged to a control group: page cache and that of the kernel included.
	ColMemCharged = "mem_charged_bytes"
	// ColSwapUsed is memory swapped out now. Where it grows, memory went to the disk meanwhile.
	ColSwapUsed = "mem_swap_bytes"

	ColDiskRead     = "disk_read_bytes"
	ColDiskWrite    = "disk_write_bytes"
	ColDiskReadOps  = "disk_read_ops"
	ColDiskWriteOps = "disk_write_ops"

	ColNetRx        = "net_rx_bytes"
	ColNetTx        = "net_tx_bytes"
	ColNetRxPackets = "net_rx_packets"
	ColNetTxPackets = "net_tx_packets"

	// ColObserver is the CPU time the observer itself has used: in a guest the
	// agent, on the host Tare's own process. It is part of what the other
	// columns count.
	ColObserver = "observer_cpu_s"

	ColPSICPU    = "psi_cpu_some_s"
	ColPSIMemory = "psi_memory_some_s"
	ColPSIIO     = "psi_io_some_s"
)

// MeterSched is the source of what the host's scheduler tells of an instance: of
// all tasks in its control groups, those that ended included. It is read at the
// edges of the measured window only.
const MeterSched = "sched"

// The columns of [MeterSched], all cumulative. An execution is a stretch of one
// task on a CPU, from the moment it is put there to the moment another takes its
// place. The second three are of a monitor's threads that are virtual CPUs.
const (
	ColSchedExecutions     = "sched_executions"
	ColSchedRun            = "sched_run_s"  // time on a CPU
	ColSchedWait           = "sched_wait_s" // time runnable without one
	ColSchedVCPUExecutions = "sched_executions_vcpu"
	ColSchedVCPURun        = "sched_run_vcpu_s"
	ColSchedVCPUWait       = "sched_wait_vcpu_s"
	// ColSchedExits is how many tasks ended; missing where those that ended are
	// not counted from their end on, so that the rest are lower bounds.
	ColSchedExits = "sched_exits"
)

// MeterBeside is the source of processes that run beside a trial for a purpose of
// the run's own. Its columns are CPUOf and MemOf their parts.
const MeterBeside = "beside"

// MeterDomain is the source of what a hypervisor tells of an instance that is one
// of its domains: the CPU time of its virtual CPUs and that of the control
// domain, whose part is PartDom0.
const (
	MeterDomain = "domain"
	PartDom0    = "dom0"
)

// PartBetween is the guest between the outermost and the innermost instance of a
// nesting that is three deep, as its own kernel counts; its column is CPUOf it.
const PartBetween = "between"

// CPUOf names the column of the CPU time of one kind of process or thread that
// serves an instance from outside: CPUOf("shim") is "cpu_shim_s". A VMM is
// split into "vcpu", "iothread" and "vmm" (its other threads).
func CPUOf(part string) string { return "cpu_" + part + "_s" }

// PartOf is the part that a column is named after by [CPUOf].
func PartOf(column string) (part string, ok bool) {
	part, ok = strings.CutPrefix(column, "cpu_")
	if ok {
		part, ok = strings.CutSuffix(part, "_s")
	}
	return part, ok
}

// MemOf names the column of the resident memory of one kind of process that
// serves an instance from outside: MemOf("shim") is "mem_shim_bytes". A VMM is
// not split. ColMemRSS is their sum.
func MemOf(part string) string { return "mem_" + part + "_bytes" }

// ReadOf and WrittenOf name the columns of what one kind of process that serves
// an instance from outside caused to be read from and written to block devices,
// as [MemOf] does; "disk_read_shim_bytes".
func ReadOf(part string) string    { return "disk_read_" + part + "_bytes" }
func WrittenOf(part string) string { return "disk_write_" + part + "_bytes" }

// DaemonsOf names the meter of the daemons of a platform in a trial that has no
// instance of it: what they use when they serve nobody. Its level is Host.
func DaemonsOf(platform string) string { return daemonsMeter + platform }

// DaemonsIn is the platform that a meter is named after by [DaemonsOf].
func DaemonsIn(meter string) (platform string, ok bool) {
	return strings.CutPrefix(meter, daemonsMeter)
}

const daemonsMeter = "daemons "

// Sample is one reading of one source.
type Sample struct {
	// At is the instant the reading was due, in nanoseconds of the host's
	// CLOCK_MONOTONIC; the same for every level of a tick.
	At int64 `json:"at"`
	// Late is how long after At the read began, in nanoseconds.
	Late int64 `json:"late"`
	// Took is the wall time of the read in nanoseconds.
	Took int64 `json:"took"`
	// CPU is the CPU time the read cost the observer, in nanoseconds.
	CPU   int64  `json:"cpu"`
	Level Level  `json:"level"`
	Actor string `json:"actor,omitempty"` // empty at host level
	Meter string `json:"meter"`
	// Guest is the guest's own CLOCK_MONOTONIC at its reading, for samples taken inside.
	Guest int64 `json:"guest,omitempty"`
	// Values by column. What could not be read is absent.
	Values map[string]float64 `json:"values"`
}

package bench

import "strings"

// Level is where a cost is paid.
type Level string

const (
	Guest Level = "guest" // as seen inside the instance
	// Inner and Outer exist for nested instances only. Inner is what serves or accounts for the
	// instance inside the outer guest. Outer is that guest as its own kernel sees it.
	Inner Level = "inner"
	Outer Level = "outer"
	Layer Level = "layer" // what serves or accounts for the instance on the host
	Host  Level = "host"  // the whole machine
	Power Level = "power"
)

// A Reader reads one source at one level. It starts no goroutine and reads no clock. The runner
// owns the clock and times each read.
type Reader interface {
	// Meter names the source, such as "proc" or "cgroup".
	Meter() string
	Level() Level
	// Columns returns the names of the values that Read fills. They are fixed for the reader's
	// life. Counters are cumulative and end in the unit (cpu_user_s, disk_read_bytes). See the
	// constants below.
	Columns() []string
	// Read fills values, one per column. A value that could not be read is NaN, never zero.
	Read(values []float64) error
	Close() error
}

// Columns that every analysis relies on. Times are cumulative seconds. Traffic is cumulative bytes
// or operations. Memory is current bytes.
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
	// ColCPUBusy is all time that is not idle, iowait or steal. For a machine it is computed by
	// subtraction and counts from an arbitrary start; see proc.CPU.
	ColCPUBusy = "cpu_busy_s"
	// ColCPUTasks is the run time of all tasks of the machine, by the scheduler's clock in
	// nanoseconds. The time of a running task is at most one kernel tick old (4 ms at 250 Hz). It
	// is not derived from idle time, so it is independent of ColCPUBusy. With IRQ_TIME_ACCOUNTING
	// it excludes interrupts. Without, it includes the interrupts that hit a task. It never
	// includes those that hit an idle CPU.
	ColCPUTasks = "cpu_tasks_s"
	// ColIdleIRQ is the machine's time in interrupts on CPUs that ran no task, soft interrupts
	// included. It is in neither the tasks' nor the idle time.
	ColIdleIRQ = "idle_irq_s"

	ColMemUsed  = "mem_used_bytes"  // memory in use, page cache excluded
	ColMemCache = "mem_cache_bytes" // page cache
	ColMemRSS   = "mem_rss_bytes"   // resident set of processes
	// ColMemShared is shared memory without a file behind it: tmpfs, memfd, System V. Kernels count
	// it as page cache.
	ColMemShared = "mem_shared_bytes"
	// ColMemCharged is all memory charged to a control group, page cache and kernel memory
	// included.
	ColMemCharged = "mem_charged_bytes"
	// ColSwapUsed is the memory swapped out now. If it grows, memory was written to the disk
	// meanwhile.
	ColSwapUsed = "mem_swap_bytes"

	ColDiskRead     = "disk_read_bytes"
	ColDiskWrite    = "disk_write_bytes"
	ColDiskReadOps  = "disk_read_ops"
	ColDiskWriteOps = "disk_write_ops"

	ColNetRx        = "net_rx_bytes"
	ColNetTx        = "net_tx_bytes"
	ColNetRxPackets = "net_rx_packets"
	ColNetTxPackets = "net_tx_packets"

	// ColObserver is the CPU time that the observer itself has used: in a guest the agent, on the
	// host Tare's own process. The other columns include it.
	ColObserver = "observer_cpu_s"

	ColPSICPU    = "psi_cpu_some_s"
	ColPSIMemory = "psi_memory_some_s"
	ColPSIIO     = "psi_io_some_s"
)

// MeterSched names the source of the host scheduler's figures for an instance. They cover all tasks
// in its control groups, those that ended included. It is read only at the edges of the measured
// window.
const MeterSched = "sched"

// The columns of [MeterSched], all cumulative. An execution lasts from the moment a task is put on
// a CPU to the moment another takes its place. The second three count only a monitor's vCPU
// threads.
const (
	ColSchedExecutions     = "sched_executions"
	ColSchedRun            = "sched_run_s"  // time on a CPU
	ColSchedWait           = "sched_wait_s" // time runnable without one
	ColSchedVCPUExecutions = "sched_executions_vcpu"
	ColSchedVCPURun        = "sched_run_vcpu_s"
	ColSchedVCPUWait       = "sched_wait_vcpu_s"
	// ColSchedExits is how many tasks ended. If it is missing, tasks that ended are no longer
	// counted, and the other columns are lower bounds.
	ColSchedExits = "sched_exits"
)

// MeterBeside names the source of processes that the run itself starts beside a trial. Its columns
// are CPUOf and MemOf of their parts.
const MeterBeside = "beside"

// MeterDomain names the source of a hypervisor's figures for an instance that is one of its
// domains: the CPU time of its virtual CPUs and that of the control domain. The part of the latter
// is PartDom0.
const (
	MeterDomain = "domain"
	PartDom0    = "dom0"
)

// PartBetween is the middle guest of a nesting of three, as its own kernel counts. Its column is
// CPUOf(PartBetween).
const PartBetween = "between"

// CPUOf returns the column for the CPU time of one kind of process or thread that serves an
// instance from outside: CPUOf("shim") is "cpu_shim_s". A VMM is split into "vcpu", "iothread" and
// "vmm" (its other threads).
func CPUOf(part string) string { return "cpu_" + part + "_s" }

// PartOf returns the part in a column's name made by [CPUOf].
func PartOf(column string) (part string, ok bool) {
	part, ok = strings.CutPrefix(column, "cpu_")
	if ok {
		part, ok = strings.CutSuffix(part, "_s")
	}
	return part, ok
}

// MemOf returns the column for the resident memory of one kind of process that serves an instance
// from outside: MemOf("shim") is "mem_shim_bytes". A VMM is not split. ColMemRSS is their sum.
func MemOf(part string) string { return "mem_" + part + "_bytes" }

// ReadOf and WrittenOf return the columns for the bytes that one kind of process that serves an
// instance from outside read from and wrote to block devices: ReadOf("shim") is
// "disk_read_shim_bytes".
func ReadOf(part string) string    { return "disk_read_" + part + "_bytes" }
func WrittenOf(part string) string { return "disk_write_" + part + "_bytes" }

// DaemonsOf returns the name of the meter of a platform's daemons in a trial without an instance of
// the platform. It shows what idle daemons use. Its level is Host.
func DaemonsOf(platform string) string { return daemonsMeter + platform }

// DaemonsIn returns the platform in a meter's name made by [DaemonsOf].
func DaemonsIn(meter string) (platform string, ok bool) {
	return strings.CutPrefix(meter, daemonsMeter)
}

const daemonsMeter = "daemons "

// Sample is one reading of one source.
type Sample struct {
	// At is when the reading was due, in nanoseconds of the host's CLOCK_MONOTONIC. It is the same
	// for every level of a tick.
	At int64 `json:"at"`
	// Late is how long after At the read began, in nanoseconds.
	Late int64 `json:"late"`
	// Took is the wall time of the read in nanoseconds.
	Took int64 `json:"took"`
	// CPU is the observer's CPU time for the read, in nanoseconds.
	CPU   int64  `json:"cpu"`
	Level Level  `json:"level"`
	Actor string `json:"actor,omitempty"` // empty at host level
	Meter string `json:"meter"`
	// Guest is the guest's own CLOCK_MONOTONIC at the reading, for samples taken inside.
	Guest int64 `json:"guest,omitempty"`
	// Values by column. A value that could not be read is absent.
	Values map[string]float64 `json:"values"`
}

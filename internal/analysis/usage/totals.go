package usage

import (
	"tare/internal/bench"
	"tare/internal/result"
)

// The sources of the whole machine.
var (
	HostProc  = Source{Level: bench.Host, Meter: "proc"}
	hostTasks = Source{Level: bench.Host, Meter: "tasks"}
	hostIdle  = Source{Level: bench.Host, Meter: "idle"}
)

// The parts of the rest of the host.
const (
	otherObserver = "observer"
	otherTasks    = "other tasks" // kernel threads among them
	otherIRQ      = "irq"
	otherSoftIRQ  = "softirq"
	otherIdleIRQ  = "interrupts on idle CPUs"
)

// hostTotals sets what all actors used against the host's own counters. Its busy
// time is found from idle time, that of tasks by the scheduler: two counters
// that know nothing of each other, so what is missing between them shows.
func (s *Launch) hostTotals(used float64, known bool) {
	busy, ok := s.rate(HostProc, bench.ColCPUBusy)
	busy += s.beyond
	if ok {
		s.BusyCPU = result.Known(busy)
	}
	s.put(&s.SoftIRQ, HostProc, bench.ColCPUSoftIRQ)
	if !ok || !known {
		return
	}
	tasks, why := s.counters[hostTasks].Rate(bench.ColCPUTasks, s.Window)
	tasks += s.beyond
	if why != "" {
		s.note("%s meter %s: the rest of the host is what is left of its busy time, and nothing can come out unattributed", hostTasks, why)
		if rest, ok := s.remainder(busy-used, busy); ok {
			s.OtherCPU = result.Known(rest)
		}
		return
	}
	parts := map[string]float64{}
	own, ok := s.rate(hostTasks, bench.ColObserver)
	if ok {
		parts[otherObserver] = own
	}
	if parts[otherTasks], ok = s.remainder(tasks-used-own, busy); !ok {
		return
	}
	s.withoutTasks(parts)
	rest := 0.0
	for _, v := range parts {
		rest += v
	}
	s.OtherParts = parts
	s.OtherCPU = result.Known(rest)
	s.Unattributed = result.Known(busy - used - rest)
}

// withoutTasks adds to the parts of the rest what is in no task's time.
func (s *Launch) withoutTasks(parts map[string]float64) {
	columns := map[string]Source{}
	if s.interruptsApart() { // those on idle CPUs are among them
		columns[otherIRQ], columns[otherSoftIRQ] = HostProc, HostProc
	} else if s.counters[hostIdle] != nil {
		columns[otherIdleIRQ] = hostIdle
	}
	for part, src := range columns {
		if v, ok := s.rate(src, columnOf[part]); ok {
			parts[part] = v
		}
	}
}

var columnOf = map[string]string{
	otherIRQ: bench.ColCPUIRQ, otherSoftIRQ: bench.ColCPUSoftIRQ, otherIdleIRQ: bench.ColIdleIRQ,
}

// remainder is what is left of a counter of the host. Its counters and those of
// instances are of different resolution (clock ticks and nanoseconds), so a
// remainder just below zero is none; one far below is impossible and refused.
func (s *Launch) remainder(v, busy float64) (float64, bool) {
	if v < -(0.02 + 0.02*busy) {
		s.note("the instances account for %.2f cores more than the whole host: the rest of the host is not given", -v)
		return 0, false
	}
	return max(0, v), true
}

// interruptsApart says whether the kernel measures interrupts and keeps them
// out of tasks' time (IRQ_TIME_ACCOUNTING). One that does not samples them when
// its clock ticks; a tick never finds itself inside of a hard interrupt other
// than its own, so there their time has been zero since boot, while where they
// are measured it is that of every timer interrupt at least.
func (s *Launch) interruptsApart() bool {
	irq, why := s.counters[HostProc].Level(bench.ColCPUIRQ)
	return why == "" && irq > 0
}

// memory gives what of the host's memory in use no actor holds.
func (s *Launch) memory(held float64, known bool) {
	used, ok := s.level(HostProc, bench.ColMemUsed)
	switch {
	case !ok || !known:
	case used < held:
		s.note("instances and layers hold more memory than the host says is in use (pages they share count for each): the memory of the rest is not given")
	default:
		s.OtherMem = result.Known(used - held)
	}
}

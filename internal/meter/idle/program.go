package idle

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// The programs' fields for each CPU, eight bytes each. Instants and durations are in nanoseconds.
const (
	depth = 8 * iota // handlers that have begun and not ended
	began            // the interrupt, 0 if there is none
	ended            // its last handler
	irq              // sum: from the beginning of interrupts to the end of their last handler
	fieldsSize
)

// A hook is a kernel tracepoint and the program that runs there. The program's inputs are a map of
// fields and the id of the idle thread.
type hook struct {
	tracepoint string
	program    func(*ebpf.Map, int32) asm.Instructions
	optional   bool // exists on some architectures only
}

var hooks = []hook{
	{"sched_switch", onSwitch, false},
	{"cpu_idle", onIdleState, false},
	{"irq_handler_entry", onHardIRQ, false},
	{"irq_handler_exit", onEnd, false},
	{"softirq_entry", onSoftIRQ, false},
	{"softirq_exit", onEnd, false},
	{"local_timer_entry", onHardIRQ, true},
	{"local_timer_exit", onEnd, true},
	{"call_function_entry", onHardIRQ, true},
	{"call_function_exit", onEnd, true},
	{"call_function_single_entry", onHardIRQ, true},
	{"call_function_single_exit", onEnd, true},
}

// The registers that the kernel's helpers preserve.
const (
	arguments = asm.R6 // of the tracepoint
	fields    = asm.R7 // of this CPU
	instant   = asm.R8
)

// begin sets the registers, or jumps to "out".
func begin(m *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Reg(fields, asm.R0),
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(instant, asm.R0),
	}
}

// unless jumps to the label unless thread is the current thread.
func unless(thread int32, label string) asm.Instructions {
	return asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(), asm.LSh.Imm(asm.R0, 32), asm.RSh.Imm(asm.R0, 32),
		asm.JNE.Imm(asm.R0, thread, label),
	}
}

func end() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return()}
}

func load(r asm.Register, field int16) asm.Instruction {
	return asm.LoadMem(r, fields, field, asm.DWord)
}

func store(field int16, r asm.Register) asm.Instruction {
	return asm.StoreMem(fields, field, r, asm.DWord)
}

func zero(field int16) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R3, 0), store(field, asm.R3)}
}

func increment(field int16, by int32) asm.Instructions {
	return asm.Instructions{load(asm.R3, field), asm.Add.Imm(asm.R3, by), store(field, asm.R3)}
}

// addSince adds the time between two instants to the sum.
func addSince(sum int16, from, to asm.Register) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R4, to), asm.Sub.Reg(asm.R4, from),
		load(asm.R5, sum), asm.Add.Reg(asm.R5, asm.R4), store(sum, asm.R5),
	}
}

// settle counts a finished interrupt, if there is one, up to the end of its last handler, and
// continues at the label. It does not count an interrupt whose handlers' ends were not seen,
// because the programs are attached one after the other.
func settle(label string) asm.Instructions {
	return slices.Concat(
		asm.Instructions{load(asm.R1, began), asm.JEq.Imm(asm.R1, 0, label), load(asm.R2, ended),
			asm.JLT.Reg(asm.R2, asm.R1, "unseen")},
		addSince(irq, asm.R1, asm.R2),
		asm.Instructions{asm.Mov.Imm(asm.R3, 0).WithSymbol("unseen"), store(began, asm.R3),
			asm.Mov.Imm(asm.R0, 0).WithSymbol(label)})
}

// onHardIRQ begins an interrupt, unless one is in progress.
func onHardIRQ(m *ebpf.Map, idle int32) asm.Instructions {
	return slices.Concat(unless(idle, "out"), begin(m),
		increment(depth, 1),
		asm.Instructions{asm.JNE.Imm(asm.R3, 1, "out")},
		settle("settled"),
		asm.Instructions{store(began, instant)},
		end())
}

// onSoftIRQ continues the interrupt that raised it.
func onSoftIRQ(m *ebpf.Map, idle int32) asm.Instructions {
	return slices.Concat(unless(idle, "out"), begin(m),
		increment(depth, 1),
		asm.Instructions{load(asm.R1, began), asm.JNE.Imm(asm.R1, 0, "out"), store(began, instant)},
		end())
}

func onEnd(m *ebpf.Map, idle int32) asm.Instructions {
	return slices.Concat(unless(idle, "out"), begin(m),
		asm.Instructions{load(asm.R1, depth), asm.JEq.Imm(asm.R1, 0, "out")},
		increment(depth, -1),
		asm.Instructions{store(ended, instant)},
		end())
}

// onIdleState runs at changes of the idle state. The first argument is the state entered, all ones
// on exit from idle.
func onIdleState(m *ebpf.Map, _ int32) asm.Instructions {
	return slices.Concat(asm.Instructions{asm.Mov.Reg(arguments, asm.R1)}, begin(m),
		asm.Instructions{
			asm.LoadMem(asm.R1, arguments, 0, asm.DWord),
			asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32),
			asm.LoadImm(asm.R2, 0xffffffff, asm.DWord),
			asm.JEq.Reg(asm.R1, asm.R2, "out"),
		},
		settle("settled"),
		end())
}

// onSwitch runs while the outgoing task is still the current one.
func onSwitch(m *ebpf.Map, idle int32) asm.Instructions {
	return slices.Concat(unless(idle, "out"), begin(m),
		settle("settled"),
		zero(depth),
		end())
}

package idle

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// What the programs keep for each CPU, eight bytes a field. Instants and
// durations are in nanoseconds.
const (
	depth = 8 * iota // handlers that have begun and not ended
	began            // the interrupt, 0 if there is none
	ended            // its last handler
	irq              // sum: from the beginning of interrupts to the end of their last handler
	fieldsSize
)

// A hook is a tracepoint of the kernel and the program that runs there, for a
// map of fields and the thread that is current where a CPU has no task.
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

// The registers that the kernel's helpers leave alone.
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

// unless jumps to the label if another thread than this one is the current.
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

// addSince adds to the sum what has passed from one instant to another.
func addSince(sum int16, from, to asm.Register) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R4, to), asm.Sub.Reg(asm.R4, from),
		load(asm.R5, sum), asm.Add.Reg(asm.R5, asm.R4), store(sum, asm.R5),
	}
}

// settle books the interrupt that is over, if there is one, up to its last
// handler, and goes on at the label. Of one whose handlers' ends were not seen
// (the programs come one after the other) nothing is known.
func settle(label string) asm.Instructions {
	return slices.Concat(
		asm.Instructions{load(asm.R1, began), asm.JEq.Imm(asm.R1, 0, label), load(asm.R2, ended),
			asm.JLT.Reg(asm.R2, asm.R1, "unseen")},
		addSince(irq, asm.R1, asm.R2),
		asm.Instructions{asm.Mov.Imm(asm.R3, 0).WithSymbol("unseen"), store(began, asm.R3),
			asm.Mov.Imm(asm.R0, 0).WithSymbol(label)})
}

// onHardIRQ begins an interrupt, unless it came in the middle of one.
func onHardIRQ(m *ebpf.Map, idle int32) asm.Instructions {
	return slices.Concat(unless(idle, "out"), begin(m),
		increment(depth, 1),
		asm.Instructions{asm.JNE.Imm(asm.R3, 1, "out")},
		settle("settled"),
		asm.Instructions{store(began, instant)},
		end())
}

// onSoftIRQ goes on with the interrupt that raised it.
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

// onIdleState: its first argument is the state entered, all ones on the way out.
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

// onSwitch runs while the task that is left is still the current one.
func onSwitch(m *ebpf.Map, idle int32) asm.Instructions {
	return slices.Concat(unless(idle, "out"), begin(m),
		settle("settled"),
		zero(depth),
		end())
}

package sched

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// ended sums the counters of a group's tasks at their end.
type ended struct {
	Tasks, Executions, Waited uint64
}

// The places of its fields.
const (
	endedTasks = 8 * iota
	endedExecutions
	endedWaited
)

// groupsAtMost is how many groups can be watched at once. depthAtMost is their maximum depth below
// the root of the hierarchy.
const (
	groupsAtMost = 1024
	depthAtMost  = 12
)

// exits sums the counters of tasks at their end, by control group. It uses a BPF program at the
// tracepoint that each task passes once when it exits. It costs nothing before that and adds about
// 1 µs to an exit.
type exits struct {
	groups  *ebpf.Map // of ended, by the inode of the group's directory
	program *ebpf.Program
	link    link.Link
}

// openExits attaches the program, for v2 groups or else for v1's cpuacct hierarchy. It needs
// CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, and a kernel with BTF and numbered ancestors of a
// group (6.1).
func openExits(unified bool) (*exits, error) {
	at, err := kernelOffsets()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w", err)
	}
	if !unified && at.accounting < 0 {
		return nil, errors.New("this kernel has no control groups of version 1")
	}
	x := &exits{}
	x.groups, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 24, MaxEntries: groupsAtMost})
	if err != nil {
		return nil, fmt.Errorf("make a map: %w", err)
	}
	x.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: onExit(x.groups, at, unified)})
	if err != nil {
		x.close()
		return nil, fmt.Errorf("load the program: %w", err)
	}
	x.link, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_process_exit", Program: x.program})
	if err != nil {
		x.close()
		return nil, fmt.Errorf("attach to sched_process_exit: %w", err)
	}
	return x, nil
}

func (x *exits) close() error {
	var errs []error
	if x.link != nil {
		errs = append(errs, x.link.Close())
	}
	if x.program != nil {
		errs = append(errs, x.program.Close())
	}
	return errors.Join(append(errs, x.groups.Close())...)
}

// watch begins to count for a group.
func (x *exits) watch(group uint64) error { return x.groups.Put(group, ended{}) }

func (x *exits) of(group uint64) (e ended, err error) {
	err = x.groups.Lookup(group, &e)
	return e, err
}

// The registers that the kernel's helpers preserve.
const (
	task = asm.R6
	own  = asm.R7 // its control group
	sums = asm.R8
)

// scratch is a place on the stack.
const scratch = -8

// fetch reads eight bytes of the kernel's, at an offset from an address in a
// register, into the register "to" by way of the stack.
func fetch(to, from asm.Register, offset int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R3, from), asm.Add.Imm(asm.R3, offset),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, scratch),
		asm.Mov.Imm(asm.R2, 8),
		asm.FnProbeReadKernel.Call(),
		asm.LoadMem(to, asm.RFP, scratch, asm.DWord),
	}
}

// onExit finds the nearest of the task's groups that is watched and adds what
// the task had. Reads that fail leave zeros, which are no group's number.
func onExit(groups *ebpf.Map, at offsets, unified bool) asm.Instructions {
	p := asm.Instructions{asm.LoadMem(task, asm.R1, 0, asm.DWord)} // the first argument
	p = append(p, fetch(own, task, at.cgroups)...)
	if unified {
		p = append(p, fetch(own, own, at.unified)...)
	} else {
		p = append(p, fetch(own, own, at.accounting)...)
		p = append(p, fetch(own, own, at.cgroup)...)
	}
	p = append(p, fetch(asm.R9, own, at.level)...)
	p = append(p, asm.LSh.Imm(asm.R9, 32), asm.RSh.Imm(asm.R9, 32)) // an int
	for level := int32(1); level <= depthAtMost; level++ {
		p = append(p, asm.JLT.Imm(asm.R9, level, "out"))
		p = append(p, fetch(asm.R0, own, at.ancestors+8*level)...)
		p = append(p, fetch(asm.R0, asm.R0, at.node)...)
		p = append(p, fetch(asm.R0, asm.R0, at.id)...) // and it stays on the stack, as the key
		p = append(p,
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, scratch),
			asm.LoadMapPtr(asm.R1, groups.FD()),
			asm.FnMapLookupElem.Call(),
			asm.JNE.Imm(asm.R0, 0, "found"))
	}
	p = append(p, asm.Ja.Label("out"), asm.Mov.Reg(sums, asm.R0).WithSymbol("found"))
	add := func(field int16) asm.Instruction { return asm.AddAtomic.Mem(sums, asm.R1, asm.DWord, field) }
	return slices.Concat(p,
		fetch(asm.R1, task, at.executions), asm.Instructions{add(endedExecutions)},
		fetch(asm.R1, task, at.waited), asm.Instructions{add(endedWaited)},
		asm.Instructions{asm.Mov.Imm(asm.R1, 1), add(endedTasks),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return()})
}

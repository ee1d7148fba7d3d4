// Package systrace follows the system calls of a program under test, by ptrace(2).
package systrace

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Call is a system call, by its number and arguments.
type Call struct {
	Number uint64
	Args   [6]uint64
}

// Eyes look at the calls of a program, whose thread stands still meanwhile. Each may be nil; an error ends the program.
type Eyes struct {
	// Born is called before the program's first instruction.
	Born func(pid int) error
	// Entered is called as a call begins, Left as it ends; a result below zero is an error's number.
	Entered func(thread int, c Call) error
	Left    func(thread int, c Call, result int64) error
}

// Run starts the program and looks at all calls of all its threads until it has ended. The programs that it starts are not followed.
// Streams of cmd must be files.
func Run(cmd *exec.Cmd, eyes Eyes) (syscall.WaitStatus, error) {
	// Only the thread that started a process may trace it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Process.Release() // follow has waited for it
	status, err := follow(cmd.Process.Pid, eyes)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	return status, err
}

// follow lets the process run from call to call until it has ended.
func follow(pid int, eyes Eyes) (syscall.WaitStatus, error) {
	threads, calls := map[int]bool{}, map[int]Call{}
	for {
		var ws syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &ws, syscall.WALL|syscall.WNOTHREAD, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if ws.Exited() || ws.Signaled() {
			if tid == pid {
				return ws, nil
			}
			continue
		}
		pass := 0
		switch sig := ws.StopSignal(); {
		case !threads[tid]: // it stops once as it begins
			threads[tid] = true
			if tid == pid {
				err = unix.PtraceSetOptions(tid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL)
				if err == nil && eyes.Born != nil {
					err = eyes.Born(pid)
				}
			}
		case sig == unix.SIGTRAP|0x80:
			err = called(tid, calls, eyes)
		case sig != unix.SIGTRAP:
			pass = int(sig)
		}
		if err != nil {
			return 0, err
		}
		if err := unix.PtraceSyscall(tid, pass); err != nil && !errors.Is(err, unix.ESRCH) {
			return 0, err
		}
	}
}

// info is struct ptrace_syscall_info of ptrace(2).
type info struct {
	op    uint8
	_     [3]uint8
	_     uint32 // the architecture
	_     [2]uint64
	value uint64 // at entry the call's number, at exit the result
	args  [6]uint64
	_     [2]uint64
}

const (
	getSyscallInfo = 0x420e
	opEntry        = 1
	opExit         = 2
)

func called(tid int, calls map[int]Call, eyes Eyes) error {
	var i info
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	if e == unix.ESRCH {
		return nil
	}
	if e != 0 {
		return fmt.Errorf("ptrace of a system call: %w", e)
	}
	if i.op == opEntry {
		calls[tid] = Call{i.value, i.args}
		if eyes.Entered != nil {
			return eyes.Entered(tid, calls[tid])
		}
		return nil
	}
	c, ok := calls[tid]
	delete(calls, tid)
	if !ok || i.op != opExit || eyes.Left == nil {
		return nil
	}
	return eyes.Left(tid, c, int64(i.value))
}

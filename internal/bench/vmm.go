package bench

import "strings"

// ThreadPart says which part a thread of a virtual machine monitor plays, by
// its name as in /proc/PID/task/TID/comm:
//
//   - "vcpu" runs the guest's code, and under emulation translates it;
//   - "iothread" moves the guest's data: an I/O thread, a worker of the pool
//     that does blocking I/O, an io_uring worker, or vhost's thread;
//   - "vmm" is everything else: the main loop, timers, RCU.
//
// The names are QEMU's under "-name debug-threads=on" and the kernel's
// (kernel/vhost_task.c, io_uring/io-wq.c); of each, Linux keeps 15 bytes.
func ThreadPart(name string) string {
	switch {
	case strings.HasPrefix(name, "CPU ") && strings.Contains(name, "/"), // "CPU 0/KVM", "CPU 0/TCG"
		strings.HasPrefix(name, "ALL CPUs/"): // one thread for all: tcg,thread=single
		return "vcpu"
	case strings.HasPrefix(name, "IO "), strings.HasPrefix(name, "iothread"), // "IO io0"
		name == "worker",
		strings.HasPrefix(name, "iou-"),   // "iou-wrk-4711"
		strings.HasPrefix(name, "vhost-"): // "vhost-4711"
		return "iothread"
	}
	return "vmm"
}

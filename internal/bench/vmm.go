package bench

import "strings"

// VMMParts are the parts [ThreadPart] tells apart.
var VMMParts = [...]string{"vcpu", "iothread", "vmm"}

// ThreadPart says what a thread of a virtual machine monitor is there for,
// by its name as in /proc/PID/task/TID/comm:
//
//   - "vcpu" runs the guest's code (and, under emulation, translates it);
//   - "iothread" moves the guest's data: an I/O thread, a worker of the pool
//     that does blocking I/O, an io_uring worker, or vhost's thread in the kernel;
//   - "vmm" is everything else: the main loop, timers, RCU.
//
// The names are QEMU's with -name debug-threads=on (util/qemu-thread-posix.c,
// accel/, iothread.c, util/thread-pool.c) and the kernel's own (kernel/vhost_task.c,
// io_uring/io-wq.c); of Linux they keep the first 15 bytes.
func ThreadPart(threadName string) string {
	switch {
	case strings.HasPrefix(threadName, "CPU "), // "CPU 0/KVM", "CPU 0/TCG"
		strings.HasPrefix(threadName, "ALL CPUs/"): // one thread for all, tcg,thread=single
		return "vcpu"
	case threadName == "IO mon_iothread": // serves the monitor, not the guest
		return "vmm"
	case strings.HasPrefix(threadName, "IO "), // "IO io0"
		threadName == "worker",
		strings.HasPrefix(threadName, "iou-"),   // "iou-wrk-4711"
		strings.HasPrefix(threadName, "vhost-"): // "vhost-4711"
		return "iothread"
	}
	return "vmm"
}

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
// The names are QEMU's under "-name debug-threads=on", Firecracker's
// (src/vmm/src/vstate/vcpu.rs; its main thread, "vmm", does the devices' work too),
// Cloud Hypervisor's (vmm/src/cpu.rs, virtio-devices: a thread for each queue) and
// the kernel's (kernel/vhost_task.c, io_uring/io-wq.c); of each, Linux keeps 15 bytes.
func ThreadPart(name string) string {
	switch {
	case strings.HasPrefix(name, "CPU ") && strings.Contains(name, "/"), // "CPU 0/KVM", "CPU 0/TCG"
		strings.HasPrefix(name, "ALL CPUs/"), // one thread for all: tcg,thread=single
		strings.HasPrefix(name, "fc_vcpu "),
		numbered(name, "vcpu"):
		return "vcpu"
	case strings.HasPrefix(name, "IO "), strings.HasPrefix(name, "iothread"), // "IO io0"
		name == "worker",
		strings.HasPrefix(name, "iou-"),   // "iou-wrk-4711"
		strings.HasPrefix(name, "vhost-"), // "vhost-4711"
		strings.HasPrefix(name, "_disk"),  // "_disk0_q0"
		strings.HasPrefix(name, "_net"):   // "_net1_qp0", "_net1_ctrl"
		return "iothread"
	}
	return "vmm"
}

// numbered reports whether the name is the word and a number.
func numbered(name, word string) bool {
	rest, ok := strings.CutPrefix(name, word)
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

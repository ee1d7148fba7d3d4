package qemu

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// pinTimeout bounds the monitor's answer to which threads the virtual CPUs are.
const pinTimeout = 5 * time.Second

// vcpu is an entry of what query-cpus-fast returns (QEMU QMP reference).
type vcpu struct {
	Index  int `json:"cpu-index"`
	Thread int `json:"thread-id"`
}

// pin binds each virtual CPU's thread to one of the CPUs, in order.
func (i *instance) pin(ctx context.Context, cpus []int) error {
	deadline := time.Now().Add(pinTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := i.monitor.SetDeadline(deadline); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	if err := i.monitor.agree(); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	var list []vcpu
	if err := i.monitor.Execute("query-cpus-fast", &list); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	for _, v := range list {
		var set unix.CPUSet
		set.Set(cpus[v.Index%len(cpus)])
		if err := unix.SchedSetaffinity(v.Thread, &set); err != nil {
			return fmt.Errorf("pin virtual CPU %d (thread %d) to CPU %d: %w", v.Index, v.Thread, cpus[v.Index%len(cpus)], err)
		}
	}
	return nil
}

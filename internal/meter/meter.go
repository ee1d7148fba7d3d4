// Package meter reads the host's figures about its own resources and its instances. Each source has
// its own file. A reader starts no goroutine and reads no clock; see [bench.Reader].
package meter

import (
	"errors"
	"math"

	"tare/internal/bench"
	"tare/internal/meter/idle"
	"tare/internal/platform/xen/domain"
)

// OpenHost opens the readers of the whole machine. Network traffic is that of the host's own
// devices. The instances' bridge and wires are in the test network. Without CPU accounting in
// control groups there is no reader of tasks. If BPF programs cannot be attached to tracepoints
// there is no reader of interrupts on idle CPUs.
func OpenHost() ([]bench.Reader, error) {
	r, err := OpenProc("/proc", "/sys")
	if err != nil {
		return nil, err
	}
	readers := []bench.Reader{r}
	if t, err := OpenTasks("/proc"); err == nil {
		readers = append(readers, t)
	}
	if i, err := idle.Open(); err == nil {
		readers = append(readers, i)
	}
	return readers, nil
}

// OpenLayer opens the readers of one instance's layer: the cgroups that account
// for it, the processes that serve it from outside, its virtual CPUs as a
// domain, and the host ends of its network devices. Sources that the scope does not name are left out.
func OpenLayer(s bench.Scope, lab Namespace) ([]bench.Reader, error) {
	var readers []bench.Reader
	var errs []error
	add := func(r bench.Reader, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		readers = append(readers, r)
	}
	if len(s.Cgroups) > 0 {
		add(OpenCgroup(s.Cgroups))
	}
	if len(s.Helpers)+len(s.Shared) > 0 {
		add(OpenHelpers("/proc", append(append([]bench.Process{}, s.Helpers...), s.Shared...)))
	}
	if s.Domain != 0 {
		add(domain.New(s.Domain))
	}
	if len(s.NetDevs) > 0 && lab != nil {
		add(OpenDevices(lab, s.NetDevs))
	}
	if err := errors.Join(errs...); err != nil {
		for _, r := range readers {
			r.Close()
		}
		return nil, err
	}
	return readers, nil
}

// Namespace runs a function inside a network namespace.
type Namespace interface{ Do(func() error) error }

// missing fills values with NaN.
func missing(values []float64) {
	for i := range values {
		values[i] = math.NaN()
	}
}

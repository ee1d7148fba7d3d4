// Package meter reads what the host knows about its own resources and about
// the instances it runs, a file per source. A reader starts no goroutine and
// keeps no clock; see [bench.Reader].
package meter

import (
	"errors"
	"math"

	"tare/internal/bench"
	"tare/internal/meter/domain"
	"tare/internal/meter/idle"
)

// OpenHost opens the readers of the whole machine. Network traffic is that of
// the host's own devices; lab is where the instances' bridge and wires are. A
// host whose control groups account for no CPU time has no reader of tasks, one
// that lets no program be attached to tracepoints none of what idle CPUs do.
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

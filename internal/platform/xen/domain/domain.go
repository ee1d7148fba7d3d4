package domain

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Reader reads the CPU time of one domain and of the control domain, as
// [bench.CPUOf] "vcpu" and "dom0". The time of a domain that has ended stays counted.
type Reader struct {
	h      *Hypervisor
	domain int
	last   float64
	gone   bool
}

// New returns the reader of the domain of that number.
func New(domain int) (*Reader, error) {
	h, err := Open()
	if err != nil {
		return nil, fmt.Errorf("open domain meter: %w", err)
	}
	return &Reader{h: h, domain: domain}, nil
}

func (*Reader) Meter() string      { return bench.MeterDomain }
func (*Reader) Level() bench.Level { return bench.Layer }
func (*Reader) Columns() []string {
	return []string{bench.CPUOf("vcpu"), bench.CPUOf(bench.PartDom0)}
}

// Close implements [bench.Reader].
func (r *Reader) Close() error { return r.h.Close() }

// Read fills values.
func (r *Reader) Read(values []float64) error {
	values[0], values[1] = math.NaN(), math.NaN()
	if !r.gone {
		i, err := r.h.Info(r.domain)
		switch {
		case errors.Is(err, unix.ESRCH):
			r.gone = true
		case err != nil:
			return fmt.Errorf("domain meter: %w", err)
		default:
			r.last = i.CPU
		}
	}
	values[0] = r.last
	control, err := r.h.Info(0)
	if err != nil {
		return fmt.Errorf("domain meter: %w", err)
	}
	values[1] = control.CPU
	return nil
}

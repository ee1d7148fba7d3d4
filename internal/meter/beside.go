package meter

import "tare/internal/bench"

// Beside reads the CPU time and memory of processes that run beside a trial and
// serve none of its instances.
type Beside struct{ *Helpers }

// OpenBeside opens them, by part.
func OpenBeside(processes []bench.Process) (*Beside, error) {
	h, err := OpenHelpers("/proc", processes)
	if err != nil {
		return nil, err
	}
	return &Beside{h}, nil
}

func (Beside) Meter() string      { return bench.MeterBeside }
func (Beside) Level() bench.Level { return bench.Host }

var _ bench.Reader = (*Beside)(nil)

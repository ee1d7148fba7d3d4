package agent

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/host/proc"
)

// sampler reads the counters of the instance as they are seen from inside.
// What cannot be read is NaN.
type sampler interface {
	columns() []string
	sample(values []float64)
	close()
}

// observed returns the CPU time the agent itself has used, in seconds.
func observed() float64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return math.NaN()
	}
	return time.Duration(ts.Nano()).Seconds()
}

// traffic is what all network devices but lo have carried. f may be nil.
func traffic(f *proc.File) (sum proc.Net, ok bool) {
	if f == nil {
		return sum, false
	}
	b, err := f.Read()
	if err != nil {
		return sum, false
	}
	err = proc.EachNet(b, func(name []byte, n proc.Net) {
		if string(name) != "lo" {
			sum.RxBytes += n.RxBytes
			sum.TxBytes += n.TxBytes
			sum.RxPackets += n.RxPackets
			sum.TxPackets += n.TxPackets
		}
	})
	return sum, err == nil
}

// fill makes values NaN, to be filled in.
func fill(values []float64) {
	for i := range values {
		values[i] = math.NaN()
	}
}

// open opens a file for repeated reading, or returns nil.
func open(path string) *proc.File {
	f, err := proc.Open(path)
	if err != nil {
		return nil
	}
	return f
}

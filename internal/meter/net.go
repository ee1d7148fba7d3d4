package meter

import (
	"fmt"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Devices reads the host ends of an instance's network devices, from the
// instance's point of view: what the host end sends, the instance receives.
type Devices struct {
	file  *proc.File
	names map[string]bool
}

var netColumns = []string{bench.ColNetRx, bench.ColNetTx, bench.ColNetRxPackets, bench.ColNetTxPackets}

// OpenDevices opens the table of network devices inside ns. Later reads show the table of ns from
// any thread.
func OpenDevices(ns Namespace, names []string) (*Devices, error) {
	d := &Devices{names: map[string]bool{}}
	for _, n := range names {
		d.names[n] = true
	}
	err := ns.Do(func() (err error) {
		d.file, err = proc.Open("/proc/thread-self/net/dev")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open network meter: %w", err)
	}
	return d, nil
}

func (d *Devices) Meter() string      { return "net" }
func (d *Devices) Level() bench.Level { return bench.Layer }
func (d *Devices) Columns() []string  { return netColumns }

// Read fills values. It returns an error if no device exists any more.
func (d *Devices) Read(v []float64) error {
	missing(v)
	b, err := d.file.Read()
	if err != nil {
		return err
	}
	var sum proc.Net
	found := 0
	err = proc.EachNet(b, func(name []byte, n proc.Net) {
		if d.names[string(name)] {
			found++
			sum.RxBytes += n.TxBytes
			sum.TxBytes += n.RxBytes
			sum.RxPackets += n.TxPackets
			sum.TxPackets += n.RxPackets
		}
	})
	if err != nil {
		return err
	}
	if found == 0 {
		return fmt.Errorf("network meter: no device of %v is left", d.names)
	}
	v[0], v[1], v[2], v[3] = sum.RxBytes, sum.TxBytes, sum.RxPackets, sum.TxPackets
	return nil
}

// Close closes the file.
func (d *Devices) Close() error { return d.file.Close() }

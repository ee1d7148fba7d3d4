package nest

import "tare/internal/bench"

// diskRoom is what an outer guest's disk under test has beyond the inner
// instance's share: journals, logs, a daemon's store.
const diskRoom = 256 * bench.MiB

// beyond is what the outermost guest has beyond the innermost instance's shape:
// the room of each guest on the way.
func (p *Platform) beyond() bench.Room {
	var r bench.Room
	for _, level := range levels(p.inner) {
		r.Memory += asks(level).Memory
		r.Disk += diskRoom
	}
	return r
}

package meter

import "tare/internal/bench"

// daemons reads the daemons of a platform that has no instance now.
type daemons struct {
	*Helpers
	platform string
}

// OpenDaemons opens the processes, on the tree mounted at procDir, that serve
// all instances of the platform. One that has ended already is an error.
func OpenDaemons(procDir, platform string, shared []bench.Process) (bench.Reader, error) {
	h, err := OpenHelpers(procDir, shared)
	if err != nil {
		return nil, err
	}
	return daemons{h, platform}, nil
}

func (d daemons) Meter() string      { return bench.DaemonsOf(d.platform) }
func (d daemons) Level() bench.Level { return bench.Host }

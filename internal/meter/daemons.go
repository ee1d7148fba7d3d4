package meter

import "tare/internal/bench"

// daemons reads the daemons of a platform without a current instance.
type daemons struct {
	*Helpers
	platform string
}

// OpenDaemons opens the processes that serve all instances of the platform, on the tree mounted at
// procDir. It returns an error if one has already ended.
func OpenDaemons(procDir, platform string, shared []bench.Process) (bench.Reader, error) {
	h, err := OpenHelpers(procDir, shared)
	if err != nil {
		return nil, err
	}
	return daemons{h, platform}, nil
}

func (d daemons) Meter() string      { return bench.DaemonsOf(d.platform) }
func (d daemons) Level() bench.Level { return bench.Host }

package launch

import (
	"errors"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Group enters the control group of that name in the ledger and makes it with the
// limits, of which missing are those that the host cannot enforce. Taking it back
// kills what is left in it. The group is returned also with an error.
func (u *Undo) Group(l bench.Ledger, host *cgroup.FS, name string, limits cgroup.Limits) (g *cgroup.Group, missing []string, err error) {
	g = host.Group(name)
	if err := u.Register(l, bench.KindCgroup, name, g.End); err != nil {
		return g, nil, err
	}
	_, missing, err = host.Create(name, limits)
	return g, missing, err
}

// ErrSandboxFrozen is why gVisor's sandboxes take no turns: its kernel does not outlive a freeze.
var ErrSandboxFrozen = errors.New("gVisor kills its programs when it was frozen")

package launch

import (
	"context"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/cgroup"
)

// GroupAbove makes the control group in which a platform's own program makes
// those of an instance, with the limits of [cgroup.LimitsAbove], and says which
// of them are missing. It is taken back with u.
func (u *Undo) GroupAbove(env bench.Env, host *cgroup.FS, l bench.Launch, disk cgroup.Disk) (g *cgroup.Group, missing []string, err error) {
	name := l.Group(env.Run)
	remove := func(ctx context.Context) error { return cgroup.Remove(ctx, name) }
	if err := u.Register(env.Ledger, bench.KindCgroup, name, remove); err != nil {
		return nil, nil, err
	}
	if g, missing, err = host.Create(name, cgroup.LimitsAbove(l.Shape, l.CPUSet, disk)); err != nil {
		return nil, nil, err
	}
	if dir := g.Dirs()["cpuset"]; dir != "" {
		// A v1 cpuset takes no process before it has CPUs, and LXC fills in
		// its own ones only where they copy their parent's.
		err = os.WriteFile(filepath.Join(dir, "cgroup.clone_children"), []byte("1"), 0)
	}
	return g, missing, err
}

package run

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/meter"
	"tare/internal/meter/sched"
)

// meters opens the readers of a trial's levels for a sampler.
type meters struct {
	sampler *sampler
	network bench.Testnet
	daemons daemons
	warn    func(format string, args ...any) // of what cannot be had
	served  map[string]bool                  // platforms whose shared daemons are read already
}

// openHost makes a sampler of the host's own readers.
func openHost() (*sampler, error) {
	s := newSampler()
	host, err := meter.OpenHost()
	if err != nil {
		return nil, err
	}
	s.add("", host...)
	return s, nil
}

// open opens the readers of the processes that run beside, and of every actor's
// layer and guest.
func (m *meters) open(actors cast, beside []bench.Process) error {
	if len(beside) > 0 {
		r, err := meter.OpenBeside(beside)
		if err != nil {
			return err
		}
		m.sampler.add("", r)
	}
	m.sampler.add("", m.daemons.openIdle(actors)...)
	m.scheduler(actors)
	for _, a := range actors {
		if err := m.actor(a); err != nil {
			return err
		}
	}
	return nil
}

// actor opens the readers of one actor.
func (m *meters) actor(a *actor) error {
	favourAgent(a.outcome.Scope)
	rs, err := m.layer(a)
	if err != nil {
		return fmt.Errorf("open meters of %s: %w", a.Name, err)
	}
	m.sampler.add(a.Name, rs...)
	if a.contained != nil {
		return nil // its agent has the harm around it: what it costs is read from outside
	}
	if err := m.sampler.openBeyond(a); err != nil {
		return err
	}
	if a.mute() {
		return nil
	}
	cols := a.client.Columns()
	m.sampler.guests = append(m.sampler.guests, &guest{
		client: a.client, actor: a.Name, columns: cols, values: make([]float64, len(cols)),
		cpu: slices.Index(cols, bench.ColObserver), spent: math.NaN(),
	})
	return nil
}

// layer opens the meters of an actor's layer. Daemons that serve several
// instances are read with the first; of another that rests little is read.
func (m *meters) layer(a *actor) ([]bench.Reader, error) {
	scope, driver := *a.outcome.Scope, a.Platform.Driver()
	if m.served[driver] {
		scope.Shared = nil
	}
	if len(scope.Shared) > 0 {
		m.served[driver] = true
	}
	if !a.idles() || len(scope.Shared) > 0 || len(scope.Cgroups) == 0 {
		return meter.OpenLayer(scope, m.network)
	}
	q, err := meter.OpenQuiet(scope)
	if err != nil {
		return nil, err
	}
	return []bench.Reader{q}, nil
}

// scheduler opens what the host's scheduler tells of every domain of the scene.
// Peers are none: they stand for other machines. Nor is what runs in a containment, where
// tasks may come and go by the thousand. What cannot be had is said with the outcome.
func (m *meters) scheduler(actors cast) {
	all, err := sched.Open("/proc")
	if err != nil {
		m.warn("executions are not counted: %v", err)
		return
	}
	m.sampler.sched = all
	for _, a := range actors {
		scope := a.outcome.Scope
		if a.Role == bench.Peer || a.contained != nil || scope.Domain != 0 || len(scope.Cgroups) == 0 {
			continue
		}
		r, err := all.Watch(*scope)
		if err != nil {
			m.warn("executions of %s are not counted: %v", a.Name, err)
			continue
		}
		m.sampler.edges = append(m.sampler.edges, newSource(r, a.Name))
	}
	if err := all.Uncounted(); err != nil {
		m.warn("executions of tasks that ended in the window are not counted: %v", err)
	}
}

// favourAgent gives the agent of an instance that shares the host's kernel the
// priority the sampler has. It is called before any command runs inside, when
// the instance's cgroup holds nothing else; commands do not inherit it.
func favourAgent(s *bench.Scope) {
	dir := cmp.Or(s.Cgroups["cpu"], s.Cgroups["unified"])
	if s.OwnKernel || dir == "" {
		return
	}
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return // the samples say how late they are
	}
	for _, pid := range strings.Fields(string(procs)) {
		tasks, err := os.ReadDir(filepath.Join("/proc", pid, "task"))
		if err != nil {
			continue
		}
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, tid, -20)
			}
		}
	}
}

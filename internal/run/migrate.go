package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
)

// Of a migration: how long it may take where the scene does not say, how often a
// program inside says something, and for how long it is listened to beyond the move.
const (
	migrateDeadline = 2 * time.Minute
	beatEvery       = 10 * time.Millisecond
	beatAfter       = 500 * time.Millisecond
	beatWithin      = 30 * time.Second // for the first: an emulated machine on a busy host starts perl late
)

// beat says something every 10 ms.
var beat = bench.Command{Argv: []string{"perl", "-e", "$| = 1; while (1) { print q(.); select(undef, undef, undef, 0.01) }"}}

// migration moves the subject while its workload runs, if it has one.
type migration struct {
	kind          bench.SceneKind
	warmup, limit time.Duration // limit bounds the move
	account       *account
	subjects      cast // of which the first is moved
	jobs          *jobs
	daemons       daemons
}

// run prepares, moves and collects.
func (m *migration) run(ctx context.Context) error {
	m.account.enter("prepare")
	a := m.subjects[0]
	moving, ok := a.instance.(bench.Migratory)
	if !ok {
		return fmt.Errorf("migrate %s on %s: its instances cannot be migrated while they run: %w", a.Name, a.Platform, bench.ErrUnavailable)
	}
	if err := m.jobs.prepare(ctx); err != nil {
		return err
	}
	if a.Workload == "" {
		m.jobs.takeFacts(ctx, a)
	}
	if w := m.jobs.actors.worker(a); w.Workload != "" && !w.part.Service {
		if err := m.jobs.start(ctx, w); err != nil {
			return err
		}
	}
	moved, gap, err := m.move(ctx, a, moving)
	if err != nil {
		return err
	}
	metrics := bench.MigrationMetrics
	if a.outcome.Values = valuesOf(moved, gap); m.kind == bench.Checkpointing {
		metrics = slices.Concat(metrics, bench.CheckpointMetrics)
		a.outcome.Values = append(a.outcome.Values, checkpointed(moved)...)
	}
	if m.account.outcome.Values, err = combine(metrics, m.subjects); err != nil {
		return err
	}
	m.account.enter("collect")
	if err := m.daemons.describe(m.jobs.actors...); err != nil {
		return err
	}
	takeHostFacts(a)
	return nil
}

// move moves an actor, and returns how long a program inside was silent for, in nanoseconds.
func (m *migration) move(ctx context.Context, a *actor, moving bench.Migratory) (moved bench.Moved, gap int64, err error) {
	heard := &beats{begun: make(chan struct{})}
	voice, err := a.client.Start(ctx, beat, heard.hear)
	if err != nil {
		return moved, 0, fmt.Errorf("listen to %s: %w", a.Name, err)
	}
	select {
	case <-heard.begun:
	case <-time.After(beatWithin):
		return moved, 0, fmt.Errorf("%s: the program that is listened to said nothing for %v", a.Name, beatWithin)
	case <-ctx.Done():
		return moved, 0, context.Cause(ctx)
	}
	m.account.enter("warmup")
	if err := sleep(ctx, max(m.warmup, beatAfter)); err != nil {
		return moved, 0, err
	}
	m.account.enter("measure")
	bounded, cancel := context.WithTimeoutCause(ctx, m.limit, fmt.Errorf("not moved after %v", m.limit))
	defer cancel()
	if moved, err = moving.Migrate(bounded); err != nil {
		return moved, 0, err
	}
	m.account.outcome.Window = [2]int64{moved.Began, moved.Ended}
	if err := sleep(ctx, beatAfter); err != nil {
		return moved, 0, err
	}
	if err := m.endWork(ctx, a, voice); err != nil {
		return moved, 0, err
	}
	if gap, err = heard.silence(moved.Began, moved.Ended); err != nil {
		return moved, 0, fmt.Errorf("%s: %w", a.Name, err)
	}
	return moved, gap, nil
}

// valuesOf are the figures of a move that a program inside was silent for, in nanoseconds.
func valuesOf(m bench.Moved, gap int64) []bench.Value {
	return []bench.Value{
		{Metric: "migration", Value: float64(m.Ended-m.Began) / 1e6},
		{Metric: "gap", Value: float64(gap) / 1e6},
		{Metric: "downtime", Value: m.Downtime},
		{Metric: "moved", Value: float64(m.Bytes) / 1e6},
		{Metric: "rounds", Value: float64(m.Rounds)},
	}
}

// checkpointed are the further ones of a move by files.
func checkpointed(m bench.Moved) []bench.Value {
	return []bench.Value{
		{Metric: "dump", Value: float64(m.Dumped-m.Began) / 1e6},
		{Metric: "restore", Value: float64(m.Ended-m.Dumped) / 1e6},
		{Metric: "pages", Value: float64(m.Pages) / 1e6},
	}
}

// endWork ends what runs in a migrated instance. That it answers shows that the
// instance works where it is now.
func (m *migration) endWork(ctx context.Context, a *actor, voice *agent.Process) error {
	if err := voice.Kill(ctx); err != nil {
		return fmt.Errorf("%s after its migration: %w", a.Name, err)
	}
	if a = m.jobs.actors.worker(a); a.main == nil || a.part.Service {
		return nil
	}
	if err := a.main.Kill(ctx); err != nil {
		return fmt.Errorf("stop %v in %s: %w", a.part.Main.Argv, a.Name, err)
	}
	out, err := a.main.Wait(ctx)
	a.main = nil
	if err != nil {
		return fmt.Errorf("run %v in %s: %w", a.part.Main.Argv, a.Name, err)
	}
	a.outcome.Output = &out
	m.account.keepOutput(a, out)
	if out.Signal == "" {
		m.account.warn("%s: %v had ended (status %d) before the migration was over: let it run longer by timing.measure", a.Name, a.part.Main.Argv, out.Exit)
	}
	return nil
}

// beats are the times at which something was heard, by the host's clock.
type beats struct {
	begun chan struct{} // closed at the first; nil if nobody waits for it

	mu sync.Mutex
	at []int64
}

func (b *beats) hear([]byte) {
	now := clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun != nil && len(b.at) == 0 {
		close(b.begun)
	}
	b.at = append(b.at, now)
}

// silence is the longest stretch between two beats, in nanoseconds, of which a
// part lies between the instants. It was heard before and after, or it is an error.
func (b *beats) silence(from, to int64) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	longest, before, after := int64(math.MinInt64), false, false
	for i, at := range b.at {
		before = before || at <= from
		after = after || at >= to
		if i > 0 && at >= from && b.at[i-1] <= to+int64(beatAfter)/2 {
			longest = max(longest, at-b.at[i-1])
		}
	}
	switch {
	case !before:
		return 0, fmt.Errorf("the program that is listened to was not heard before the migration")
	case !after:
		return 0, fmt.Errorf("the program that is listened to was not heard after the migration")
	}
	return longest, nil
}

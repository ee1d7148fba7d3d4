package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"tare/internal/bench"
	"tare/internal/pagecache"
)

// provideCache brings the page cache into the state that the scene asks for.
func (x *trial) provideCache(ctx context.Context) error {
	for _, a := range x.withRole(bench.Subject) {
		var err error
		switch x.scene.Cache {
		case bench.Warm:
			err = x.warmUpCache(ctx, a)
		case bench.Cold:
			a.dropped, err = x.dropCache(a)
			x.cached = nil
		}
		if err != nil {
			return fmt.Errorf("%s page cache for %s: %w", x.scene.Cache, a.Platform, err)
		}
	}
	return nil
}

// noteCached remembers that what the platform reads is in the page cache now.
func (r *Runner) noteCached(p bench.PlatformRef) {
	if r.cached == nil {
		r.cached = map[string]bool{}
	}
	r.cached[p.String()] = true
}

// warmUpCache launches the platform once without timing it, unless it was
// launched since something was dropped.
func (x *trial) warmUpCache(ctx context.Context, a *actor) (err error) {
	if x.cached[a.Platform.String()] {
		return nil
	}
	before := &actor{Actor: a.Actor, id: a.id + "w", dir: a.dir + "-warm"}
	if err := os.MkdirAll(before.dir, 0o700); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, x.end(before))
	}()
	if err := x.launchActor(ctx, before); err != nil {
		return err
	}
	return before.must(ctx, bench.Command{Argv: []string{"/bin/true"}, Timeout: answerDeadline, Bare: true}, "first command")
}

// dropCache takes out of the page cache what a launch of the actor reads. The agent is
// Tare's own, and some drivers start it before the launch: it is read in, for all alike.
func (x *trial) dropCache(a *actor) (pagecache.Dropped, error) {
	e := x.Engines[a.Platform.Driver()]
	reads, ok := e.Engine.(bench.Reading)
	if !ok {
		return pagecache.Dropped{}, fmt.Errorf("it is not known which files its launches read: %w%w", bench.ErrUnavailable,
			bench.Hint("leave the platform out of scenes with cache: cold"))
	}
	d, err := pagecache.Drop(slices.Concat(reads.Reads(), pagecache.Programs(slices.Sorted(maps.Keys(e.Programs)))))
	if err == nil {
		_, err = os.ReadFile(x.AgentPath)
	}
	return d, err
}

// noteDropped puts down what was dropped before the launch.
func (x *trial) noteDropped(a *actor) {
	d := a.dropped
	if x.scene.Cache != bench.Cold || d.Before < 0 {
		return
	}
	a.outcome.Facts[bench.FactCacheDropped] = strconv.FormatInt(d.Before-d.Kept, 10)
	a.outcome.Facts[bench.FactCacheKept] = strconv.FormatInt(d.Kept, 10)
}

package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"tare/internal/bench"
	"tare/internal/host/pagecache"
)

// pageCache is what a run knows of the host's page cache.
type pageCache struct {
	agentPath string
	launched  map[string]bool     // platforms, since anything was last dropped
	opened    map[string][]string // files that a launch of a platform opens, by the platform
}

// note remembers that what the platform reads is in the page cache now.
func (c *pageCache) note(p bench.PlatformRef) { c.launched[p.String()] = true }

// provide brings the page cache into a state for a subject.
func (c *pageCache) provide(ctx context.Context, state string, a *actor, l *launcher) (err error) {
	switch state {
	case bench.Warm:
		if !c.launched[a.Platform.String()] {
			return untimed(ctx, a, l)
		}
	case bench.Cold:
		a.dropped, err = c.empty(ctx, a, l)
		clear(c.launched)
	}
	return err
}

// untimed launches the platform once and runs the first command, without timing it.
func untimed(ctx context.Context, a *actor, l *launcher) (err error) {
	before := &actor{Actor: a.Actor, run: a.run, id: a.id + "w", dir: a.dir + "-warm", around: a.around}
	if err := os.MkdirAll(before.dir, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil { // the trial ends here: this is what there is to know of its launch
			cast{before}.rememberLogs()
			a.outcome = before.outcome
		}
		err = errors.Join(err, l.end(before))
	}()
	if err := l.launch(ctx, before); err != nil || a.Platform.Agentless() {
		return err
	}
	return before.must(ctx, bench.Command{Argv: []string{"/bin/true"}, Timeout: answerDeadline, Bare: true}, "first command")
}

// empty takes out of the page cache what a launch of the platform reads: the image, and every file
// that was opened in a launch before. The agent is Tare's own, and some drivers start it before the
// launch: it is read in, for all alike.
func (c *pageCache) empty(ctx context.Context, a *actor, l *launcher) (pagecache.Dropped, error) {
	e, _ := l.engine(a)
	reads, ok := e.Engine.(bench.Reading)
	if !ok {
		return pagecache.Dropped{}, fmt.Errorf("it is not known which files its launches read: %w%w", bench.ErrUnavailable,
			bench.Hint("leave the platform out of scenes with cache: cold"))
	}
	if err := c.learn(ctx, a, l); err != nil {
		return pagecache.Dropped{}, err
	}
	files := present(c.opened[a.Platform.String()])
	programs := slices.Sorted(maps.Keys(e.Programs))
	if chosen := a.Platform.Options[bench.ProgramOption]; chosen != "" {
		programs = append(programs, chosen)
	}
	if kernel := a.Platform.Options[bench.KernelOption]; kernel != "" {
		files = append(files, kernel)
	}
	if k := l.kernel; k != nil && a.Platform.Agentless() {
		files = append(files, k.Paths()...)
	}
	d, err := pagecache.Drop(slices.Concat(reads.Reads(), pagecache.Programs(programs), files))
	if err == nil {
		_, err = os.ReadFile(c.agentPath)
	}
	return d, err
}

// learn launches the platform once to see which files are opened, unless it has been seen. Where
// the kernel does not list them, those that the driver names have to do, with a warning.
func (c *pageCache) learn(ctx context.Context, a *actor, l *launcher) error {
	name := a.Platform.String()
	if _, ok := c.opened[name]; ok {
		return nil
	}
	f, err := follow(a.run)
	if errors.Is(err, bench.ErrUnavailable) {
		l.account.warn("%s: of its programs only those that its driver names are out of the page cache: %v", name, err)
		return nil
	}
	if err != nil {
		return err
	}
	err = untimed(ctx, a, l)
	files, ferr := f.close()
	if err = errors.Join(err, ferr); err == nil {
		c.opened[name] = files
	}
	return err
}

// present are the files that are still there.
func present(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		_, err := os.Lstat(f)
		return err != nil
	})
}

package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/platform/criu"
	"tare/internal/platform/launch"
)

// What a checkpoint is made of, in the launch's directory: CRIU's image files,
// those that memory was copied to beforehand, and its logs.
const (
	checkpointDir = "checkpoint"
	beforehandDir = "beforehand"
	dumpDir       = "dump"
	restoreDir    = "restore"
	restoredPID   = "restored.pid"
)

// restored is added to the container's name for the one it is restored as.
const restored = "-in"

// carried are what else of a container CRIU may save: a workload may hold locks and connections.
var carried = []string{"--tcp-established", "--file-locks", "--ext-unix-sk"}

// errOneMove says why a container stays.
var errOneMove = fmt.Errorf("it has moved once already: %w", bench.ErrInvalid)

// checkpoints says what CRIU can do for the runtime here.
func (r Runtime) checkpoints(ctx context.Context) (criu.Host, error) {
	if r.RestoreFeature != "" {
		with := r
		with.Feature = r.RestoreFeature
		if err := with.built(ctx); err != nil {
			return criu.Host{}, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("use runc, or a build of "+r.Program+" with "+r.RestoreFeature))
		}
	}
	return criu.Check(ctx)
}

// Migrate implements [bench.Migratory]: CRIU writes the container's processes
// to files, which ends it, and a second one over the same layer, in the same
// network namespace and control group, is restored from them.
func (i *instance) Migrate(ctx context.Context) (bench.Moved, error) {
	var moved bench.Moved
	err := criu.Tidily(i.engine.env.Ledger, func() (err error) {
		moved, err = i.migrate(ctx)
		return err
	})
	if err != nil {
		return moved, fmt.Errorf("migrate %s: %w", i.launch.ID, err)
	}
	return moved, nil
}

func (i *instance) migrate(ctx context.Context) (moved bench.Moved, err error) {
	switch {
	case !i.engine.Restores:
		return moved, fmt.Errorf("containers of %s are not checkpointed: %w", i.engine.Name, bench.ErrInvalid)
	case i.process != i.first:
		return moved, errOneMove
	}
	host, err := i.engine.checkpoints(ctx)
	if err != nil {
		return moved, err
	}
	for _, dir := range []string{checkpointDir, beforehandDir, dumpDir, restoreDir} {
		if err := os.Mkdir(i.file(dir), 0o700); err != nil {
			return moved, err
		}
	}
	release, err := i.wire.Hold(ctx, i.taken())
	if err != nil {
		return moved, err
	}
	defer release()
	moved.Began = clock.Now()
	if moved.Rounds, err = i.dump(ctx, host.Tracks); err != nil {
		return moved, err
	}
	moved.Dumped = clock.Now()
	if i.process, err = i.restore(ctx); err != nil {
		return moved, err
	}
	moved.Ended = clock.Now()
	i.wire.Turn(i.process.Stream())
	return moved, i.account(&moved)
}

func (i *instance) file(name string) string { return filepath.Join(i.launch.Dir, name) }

// dump writes the container to files, its memory twice where the kernel tracks
// what is written in between, and returns once it is gone.
func (i *instance) dump(ctx context.Context, tracks bool) (rounds int, err error) {
	args := append([]string{"checkpoint", "--image-path", i.file(checkpointDir), "--work-path", i.file(dumpDir)}, carried...)
	if tracks {
		before := append([]string{"checkpoint", "--pre-dump", "--image-path", i.file(beforehandDir), "--work-path", i.file(dumpDir)}, carried...)
		if err := i.checkpoint(ctx, append(before, i.launch.ID)); err != nil {
			return 0, err
		}
		rounds, args = 1, append(args, "--parent-path", filepath.Join("..", beforehandDir))
	}
	if err := i.checkpoint(ctx, append(args, i.launch.ID)); err != nil {
		return rounds, err
	}
	select {
	case <-i.process.Done():
	case <-ctx.Done():
		return rounds, fmt.Errorf("%s does not end after the checkpoint: %w", i.engine.Program, context.Cause(ctx))
	}
	return rounds + 1, nil
}

// checkpoint asks the runtime, where it sees the container's root.
func (i *instance) checkpoint(ctx context.Context, verb []string) error {
	cmd := i.engine.command(i.launch, i.engine.args(i.site, verb...))
	start := func() error { return launch.Within(i.process.PID(), cmd.Start) }
	if said, err := i.ask(ctx, cmd, start); err != nil {
		return i.refused("checkpoint", i.file(filepath.Join(dumpDir, "dump.log")), said, err)
	}
	return nil
}

// restore starts a second container from the files, and returns once it runs.
func (i *instance) restore(ctx context.Context) (*launch.Process, error) {
	i.site.Launch.ID = i.launch.ID + restored
	pid := i.file(restoredPID)
	verb := append([]string{"restore", "--bundle", i.site.Bundle, "--image-path", i.file(checkpointDir), "--work-path", i.file(restoreDir), "--pid-file", pid}, carried...)
	cmd := i.engine.command(i.launch, i.engine.args(i.site, append(verb, i.site.Launch.ID)...))
	cmd.Dir = i.launch.Dir
	p, err := i.foreground(cmd)
	if err != nil {
		return i.process, err
	}
	for {
		if _, err := os.Stat(pid); err == nil {
			return p, nil
		}
		select {
		case <-p.Done():
			return p, i.refused("restore", i.file(filepath.Join(restoreDir, "restore.log")), launch.Tail(i.log()), errors.New(p.State()))
		case <-ctx.Done():
			return p, fmt.Errorf("%s restore: it does not run: %w", i.engine.Program, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}

// refused has CRIU's own words for what the runtime could not do.
func (i *instance) refused(verb, log, said string, err error) error {
	why := criu.Complaints(log)
	if why == "" {
		why = strings.TrimSpace(said)
	}
	return fmt.Errorf("%s %s: %w: CRIU says: %s%w", i.engine.Program, verb, err, why,
		bench.Hint("CRIU cannot carry over everything that a program may have open: criu.org/What_cannot_be_checkpointed"))
}

// account fills in what CRIU says of the move.
func (i *instance) account(m *bench.Moved) error {
	dumped, err := criu.ReadStats(i.file(filepath.Join(dumpDir, criu.DumpStats)))
	if err != nil {
		return err
	}
	again, err := criu.ReadStats(i.file(filepath.Join(restoreDir, criu.RestoreStats)))
	if err != nil {
		return err
	}
	m.Downtime = float64(dumped.Freezing+dumped.Frozen+again.Restore) / 1e3
	for _, dir := range []string{checkpointDir, beforehandDir}[:m.Rounds] {
		files, err := criu.ImagesIn(i.file(dir))
		if err != nil {
			return err
		}
		m.Pages += files.Pages
		m.Bytes += files.Pages + files.Rest
	}
	return nil
}

// quietPolls is how often nothing must be on its way: the runtime takes bytes
// out of one pipe before it puts them into the next.
const quietPolls = 3

// taken reports whether the agent has what was sent to it, of the pipe to the
// runtime and the one from there to the container's first process.
func (i *instance) taken() func() (bool, error) {
	quiet := 0
	return func() (bool, error) {
		left, err := i.process.Untaken()
		if err != nil {
			return false, err
		}
		group, _ := i.container()
		first, _, err := firstOf(group)
		if err != nil {
			return false, err
		}
		inside, err := unread(fmt.Sprintf("/proc/%d/fd/0", first))
		if err != nil {
			return false, err
		}
		if quiet++; left+inside > 0 {
			quiet = 0
		}
		return quiet >= quietPolls, nil
	}
}

// unread is how many bytes wait in the pipe.
func unread(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ) // FIONREAD
	if err != nil {
		return 0, fmt.Errorf("bytes in %s: %w", path, err)
	}
	return n, nil
}

// ask starts the runtime for one answer, in a session of its own, and returns what it printed. It is
// killed with what it has started when ctx is done.
func (i *instance) ask(ctx context.Context, cmd *exec.Cmd, start func() error) (said string, err error) {
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	if err := start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err = cmd.Wait()
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	return words.String(), err
}

var _ bench.Migratory = (*instance)(nil)

package launch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/guest/spawn"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
)

// Held is a process that gets all ready, then waits, and becomes the platform's
// program when it is let go; see package spawn. What it does before is not part of
// the launch.
type Held struct {
	ours, theirs *os.File
	log          *Log
}

// Hold gives cmd, whose program is the agent's binary, the file on which the two
// agree on the launch. [Held.Go] looks for the reason of a failure in words, where its standard error goes.
func Hold(cmd *exec.Cmd, words *Log) (*Held, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket pair: %w", err)
	}
	h := &Held{os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), words}
	cmd.ExtraFiles = []*os.File{h.theirs}
	return h, nil
}

// InGroup returns the command that holds cmd in the group.
func InGroup(g *cgroup.Group, agent string, cmd *exec.Cmd) (*exec.Cmd, error) {
	args, err := spawn.Held{Procs: g.ProcsFiles(), Path: cmd.Path, Argv: cmd.Args}.Args()
	if err != nil {
		return nil, err
	}
	held := exec.Command(agent, args...)
	held.Dir, held.Env, held.SysProcAttr = cmd.Dir, cmd.Env, cmd.SysProcAttr
	held.Stdin, held.Stdout, held.Stderr = cmd.Stdin, cmd.Stdout, cmd.Stderr
	return held, nil
}

// Go waits until the process, which was started, is ready and lets it go. It
// returns the moment right before that and the one at which the program was
// executed.
func (h *Held) Go(ctx context.Context) (launched, executed int64, err error) {
	h.theirs.Close()
	stop := context.AfterFunc(ctx, func() { h.ours.Close() })
	defer stop()
	from := bufio.NewReader(h.ours)
	word, err := from.ReadString('\n')
	if word = strings.TrimSpace(word); word != spawn.Ready {
		return 0, 0, h.fail(ctx, "it is not ready", word, err)
	}
	launched = clock.Now()
	if _, err := h.ours.Write([]byte{1}); err != nil {
		return 0, 0, h.fail(ctx, "let it go", "", err)
	}
	// Its end of the file is closed by the execution.
	word, err = from.ReadString('\n')
	executed = clock.Now()
	if word != "" || !errors.Is(err, io.EOF) {
		return 0, 0, h.fail(ctx, "let it go", strings.TrimSpace(word), err)
	}
	return launched, executed, nil
}

func (h *Held) fail(ctx context.Context, what, word string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %s", what, cmp.Or(word, h.log.Tail(), fmt.Sprint(err)))
}

// Close gives up what was not let go, which then ends.
func (h *Held) Close() {
	h.theirs.Close()
	h.ours.Close()
}

// StartHeld is [Start] for a program that is held: it is launched when it is let go.
func StartHeld(ctx context.Context, cmd *exec.Cmd, words string) (*Process, error) {
	h, err := Hold(cmd, nil)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	p, err := Start(cmd, words)
	if err != nil {
		return nil, err
	}
	h.log = p.log
	if p.launched, p.spawned, err = h.Go(ctx); err != nil {
		return nil, errors.Join(err, p.Kill(), p.watched.Close())
	}
	return p, nil
}

// StartIn is [Start] for a program that is born in the group: nothing of it is
// charged elsewhere, and nothing is left to do once it runs.
func StartIn(ctx context.Context, g *cgroup.Group, agent string, cmd *exec.Cmd, words string) (*Process, error) {
	held, err := InGroup(g, agent, cmd)
	if err != nil {
		return nil, err
	}
	return StartHeld(ctx, held, words)
}

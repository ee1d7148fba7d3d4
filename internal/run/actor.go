package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/pagecache"
	"tare/internal/meter"
	"tare/internal/run/containment"
	"tare/internal/run/trace"
)

// actor is one instance of the scene and what it does.
type actor struct {
	bench.Actor
	run       string // its id
	id, dir   string
	netns     string       // of a peer
	addr      netip.Addr   // as the others see it
	away      *FurtherHost // that it runs on; nil for this one
	reach     netip.Addr   // at which a peer on a further host finds it; none for most
	instance  bench.Instance
	client    *agent.Client
	forget    context.CancelFunc // of the end of a machine without an agent; nil for all others
	publish   int                // the port that its platform publishes; 0 for none
	around    string             // the control group that its own is made in; "" for none
	contained *containment.Group // that group where it is a containment; nil for what means no harm
	part      bench.Part
	main      *agent.Process
	ended     int64 // when the main command had, by the host's clock
	clock     comparison
	dropped   pagecache.Dropped
	first     trace.Command // of a start-up scene
	cycles    *meter.Cycles // of its CPUs, while it is observed; nil where they cannot be counted
	hertz     float64       // of its CPUs over the window; 0 if not known
	outcome   bench.ActorOutcome
	stored    []bench.Value // of the disk; see [bench.StoredMetrics]
}

// advise adds to an error about a program on a further host where it has to be.
func (a *actor) advise(err error) error {
	if a.away == nil || err == nil || !strings.Contains(err.Error(), "not found in the instance's PATH") {
		return err
	}
	return fmt.Errorf("%w%w", bench.Hint("a peer on a further host runs that host's programs: install this one on "+a.Host), err)
}

// loads says whether the actor is a peer whose program is the client of the one it serves.
func (a *actor) loads() bool { return a.Role == bench.Peer && a.Serves != "" && !a.part.Service }

// idles says whether the actor is idle and all its cost is in the host's own
// counters, so that nothing needs to be asked inside: many idle ones would pay for the asking.
func (a *actor) idles() bool {
	s := a.outcome.Scope
	return a.Role == bench.Idle && s != nil && !s.OwnKernel && s.Inner == nil
}

// mute says whether nothing is asked inside: the actor idles, or has no agent.
func (a *actor) mute() bool { return a.idles() || a.Platform.Agentless() }

// place puts the workload's files inside the instance. The agent makes their directories: an image of
// the user's own may have no program for it.
func (a *actor) place(ctx context.Context) error {
	for _, f := range a.part.Files {
		var data io.Reader = bytes.NewReader(f.Data)
		if f.HostPath != "" {
			file, err := openToCopy(f.HostPath)
			if err != nil {
				return fmt.Errorf("copy %s into %s: %w%w", f.HostPath, a.Name, err,
					bench.Hint("the file is named by the workload's parameters; check its path"))
			}
			defer file.Close()
			data = file
		}
		if err := a.client.Put(ctx, f.Path, f.Mode, data); err != nil {
			return fmt.Errorf("put %s into %s: %w", f.Path, a.Name, err)
		}
	}
	return nil
}

// maxCopied bounds a file of the host's that is copied into an instance.
const maxCopied = 4 * bench.GiB

// openToCopy opens a file to be copied. It waits for no writer of a pipe, and
// takes nothing that has no end, such as a device or the kernel's own memory.
func openToCopy(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() > int64(maxCopied):
		err = fmt.Errorf("it has %v: at most %v are copied", bench.Bytes(info.Size()), maxCopied)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// must runs a command that has to succeed.
func (a *actor) must(ctx context.Context, c bench.Command, what string) error {
	out, err := a.client.Exec(ctx, c)
	if err != nil {
		return fmt.Errorf("%s in %s: %v: %w", what, a.Name, c.Argv, a.advise(err))
	}
	return checkExit(what+" in "+a.Name, c, out, nil)
}

// ownEnd is the failure of a program that came to its end of its own accord: it was neither killed
// nor out of time.
type ownEnd struct{ error }

func (e *ownEnd) Unwrap() error { return e.error }

// ofItself marks a failure with the end of its program, if that was of its own accord. A shell
// passes on as a status what killed the program that it ran.
func ofItself(out bench.Output, err error) error {
	killed := []int{128 + int(unix.SIGKILL), 128 + int(unix.SIGTERM)}
	if out.TimedOut || slices.Contains(killed, out.Exit) {
		return err
	}
	return &ownEnd{err}
}

// checkExit is an error for a command that failed, with the last of what it
// printed. Exit statuses in fine are not failures.
func checkExit(what string, c bench.Command, out bench.Output, fine []int) error {
	if !out.TimedOut && out.Signal == "" && (out.Exit == 0 || slices.Contains(fine, out.Exit)) {
		return nil
	}
	how := "exit status " + strconv.Itoa(out.Exit)
	switch {
	case out.TimedOut:
		how = fmt.Sprintf("no end after %v", c.Timeout)
	case out.Signal != "":
		how = "ended by signal " + out.Signal
	}
	return ofItself(out, fmt.Errorf("%s: %v: %s: %s", what, c.Argv, how, tail(out, 600)))
}

// tail is the last of what a command printed, standard error first.
func tail(out bench.Output, n int) string {
	b := bytes.TrimSpace(out.Stderr)
	if len(b) == 0 {
		b = bytes.TrimSpace(out.Stdout)
	}
	if len(b) == 0 {
		return "it printed nothing"
	}
	return strconv.Quote(string(b[max(0, len(b)-n):]))
}

// warmUp runs the warm-up that is a run of its own.
func (a *actor) warmUp(ctx context.Context) error {
	for _, c := range a.part.Warm {
		if err := a.must(ctx, c, "warm up"); err != nil {
			return err
		}
	}
	return nil
}

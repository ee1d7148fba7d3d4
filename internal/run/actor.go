package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/bench"
	"tare/internal/outercage"
	"tare/internal/pagecache"
	"tare/internal/trace"
)

// actor is one instance of the scene and what it does.
type actor struct {
	bench.Actor
	id, dir  string
	netns    string     // of a peer
	addr     netip.Addr // as the others see it
	instance bench.Instance
	client   *agent.Client
	cage     *outercage.Cage // around it; nil for what means no harm
	part     bench.Part
	main     *agent.Process
	clock    comparison
	dropped  pagecache.Dropped
	first    trace.Command // of a start-up scene
	outcome  bench.ActorOutcome
	stored   []bench.Value // of the disk; see [bench.StoredMetrics]
}

// rests says whether the actor is idle and all its cost is in the host's own
// counters, so that nothing needs to be asked inside: a crowd would pay for the asking.
func (a *actor) rests() bool {
	s := a.outcome.Scope
	return a.Role == bench.Idle && s != nil && !s.OwnKernel && s.Inner == nil
}

// launch starts every actor, those that serve or surround the subjects first,
// and waits until its agent has greeted.
func (x *trial) launch(ctx context.Context) error {
	if err := x.cages(); err != nil {
		return err
	}
	if err := x.makePool(ctx); err != nil {
		return err
	}
	for _, role := range []bench.Role{bench.Peer, bench.Idle, bench.Neighbour, bench.Subject} {
		for _, a := range x.actors {
			if a.Role != role {
				continue
			}
			if err := x.launchActor(ctx, a); err != nil {
				return fmt.Errorf("launch %s on %s: %w", a.Name, a.Platform, err)
			}
		}
	}
	return nil
}

func (x *trial) launchActor(ctx context.Context, a *actor) error {
	e, ok := x.Engines[a.Platform.Driver()]
	a.outcome = bench.ActorOutcome{Actor: a.Name, Role: a.Role, Platform: a.Platform, CPUSet: a.CPUSet}
	if !ok {
		return fmt.Errorf("platform is not open: %w", bench.ErrUnavailable)
	}
	a.outcome.Version, a.outcome.Label = e.Version, e.Label
	if a.Role == bench.Peer && x.Lab != nil {
		var err error
		if a.netns, a.addr, err = x.Lab.Peer(ctx, a.Name); err != nil {
			return err
		}
	}
	limit := startDeadline
	if a.Platform.On != nil {
		limit = nestedDeadline
	}
	if d := x.scene.Timing.Deadline; d > 0 {
		limit = d
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not up after %v", limit))
	defer cancel()
	options := bench.Variant(e.Options, a.Platform.DriverOptions())
	a.outcome.Caveats = e.CaveatsOf(options)
	var err error
	a.instance, err = start(ctx, e, bench.Launch{
		ID: a.id, Shape: a.Shape, CPUSet: a.CPUSet, Options: options, Dir: a.dir, NetNS: a.netns, Cage: x.around(a),
	})
	if err != nil {
		return inUse(err)
	}
	a.outcome.Launch = a.instance.Command()
	if a.client, err = agent.Dial(ctx, a.instance.Stream()); err != nil {
		return unanswered(ctx, err)
	}
	if x.scene.Kind == bench.Startup && a.Role == bench.Subject {
		if err := x.firstCommand(ctx, a); err != nil {
			return err
		}
	}
	ready := a.client.GreetedAt() - a.instance.Launched()
	if ready <= 0 {
		what := fmt.Sprintf("ready: the agent greeted %d ns after the launch", ready)
		x.outcome.Refused = append(x.outcome.Refused, bench.Refusal{
			Actor: a.Name, Level: bench.Host, Meter: "clock", At: a.client.GreetedAt(), What: what})
		return fmt.Errorf("%s: the clock cannot be trusted", what)
	}
	x.noteCached(a.Platform)
	hello := a.client.Hello()
	a.outcome.ReadyMS = float64(ready) / 1e6
	a.outcome.CPUsSeen, a.outcome.Kernel = len(hello.CPUs), hello.Kernel
	a.outcome.Unenforced = a.instance.Unenforced()
	if c, ok := a.instance.(bench.Cautioned); ok {
		label, caveats := c.Cautions()
		if label != "" {
			a.outcome.Label = strings.TrimPrefix(a.outcome.Label+", "+label, ", ")
		}
		a.outcome.Caveats = append(a.outcome.Caveats, caveats...)
	}
	if a.Role != bench.Peer {
		a.addr = a.instance.Addr()
	}
	return nil
}

// prepare makes every actor ready: files placed, services running, the
// subjects' own preparation done, and then the neighbours at work.
func (x *trial) prepare(ctx context.Context) error {
	for _, a := range x.inOrder() {
		if x.disturbs(a) {
			if err := x.unleash(ctx); err != nil {
				return err
			}
		}
		if a.Role == bench.Subject {
			x.takeFacts(ctx, a)
		}
		if a.Workload == "" {
			continue
		}
		if x.writesRoot(a) {
			x.takeStored(a, bench.StoredMetrics[0].Name)
		}
		w, ok := x.Workloads[a.Workload]
		if !ok {
			return fmt.Errorf("workload %q of %s is not known: %w", a.Workload, a.Name, bench.ErrInvalid)
		}
		var err error
		if a.part, err = w.Steps(a.Part, a.Params, x.setting(a)); err != nil {
			return fmt.Errorf("workload %s in %s: %w", a.Workload, a.Name, err)
		}
		if err := a.place(ctx); err != nil {
			return err
		}
		for _, c := range a.part.Prepare {
			if err := a.must(ctx, c, "prepare"); err != nil {
				return err
			}
		}
		switch {
		case a.part.Service:
			if err := x.serve(ctx, a); err != nil {
				return err
			}
			if x.disturbs(a) {
				x.follow(a)
			}
		case a.Role == bench.Neighbour:
			x.repeat(a)
		}
	}
	return nil
}

func (x *trial) setting(a *actor) bench.Setting {
	return bench.Setting{Timing: x.scene.Timing, Shape: a.Shape, LLC: x.LLC, Addr: x.addresses(a)}
}

// addresses are those of the parts of a's workload, such as "server": of the
// actors that serve the one a serves, or a itself.
func (x *trial) addresses(a *actor) map[string]netip.Addr {
	served := cmp.Or(a.Serves, a.Name)
	m := map[string]netip.Addr{}
	for _, b := range x.actors {
		switch {
		case b.Serves == served:
			m[b.Part] = b.addr
		case b.Name == served:
			m[bench.SubjectPart] = b.addr
		}
	}
	return m
}

// place puts the workload's files inside the instance.
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
		mk := bench.Command{Argv: []string{"mkdir", "-p", path.Dir(f.Path)}, Timeout: answerDeadline}
		if err := a.must(ctx, mk, "make the directory of "+f.Path); err != nil {
			return err
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
		err = errors.New("it is no regular file")
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
		return fmt.Errorf("%s in %s: %v: %w", what, a.Name, c.Argv, err)
	}
	return checkExit(what+" in "+a.Name, c, out, nil)
}

// checkExit is an error for a command that failed, with the last of what it
// printed. Exit statuses in fine are no failure.
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
	return fmt.Errorf("%s: %v: %s: %s", what, c.Argv, how, tail(out, 600))
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

// serve starts a service and waits until it accepts connections.
func (x *trial) serve(ctx context.Context, a *actor) error {
	var err error
	if a.main, err = a.client.Start(ctx, a.part.Main, nil); err != nil {
		return fmt.Errorf("start %s in %s: %w", a.Workload, a.Name, err)
	}
	a.outcome.Command = a.part.Main.Argv
	if a.part.Listen == 0 || !a.addr.IsValid() || x.Lab == nil {
		return nil
	}
	target := netip.AddrPortFrom(a.addr, uint16(a.part.Listen)).String()
	deadline := time.Now().Add(listenDeadline)
	for {
		var conn net.Conn
		err := x.Lab.Do(func() (err error) {
			conn, err = net.DialTimeout("tcp", target, time.Second)
			return err
		})
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("wait for %s in %s to accept on %s: %w", a.Workload, a.Name, target,
				errors.Join(err, context.Cause(ctx)))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (x *trial) withRole(role bench.Role) []*actor {
	var as []*actor
	for _, a := range x.actors {
		if a.Role == role {
			as = append(as, a)
		}
	}
	return as
}

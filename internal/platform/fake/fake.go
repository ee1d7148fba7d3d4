// Package fake is a platform without isolation: its instances are plain
// processes of the host that run the real agent. It needs no root and no image,
// for tests of what uses platforms, and it fails on request.
package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// Fault is what goes wrong with an instance; its zero is nothing.
type Fault struct {
	Start     error         // Start fails with it
	Silent    bool          // the agent never says a word
	DieAfter  time.Duration // the agent is killed so long after its greeting; 0 is never
	Close     error         // Close does its work and then fails with it
	DeafAfter time.Duration // so long after its launch nothing more is read of what it is sent; 0 is never
	// Step is by how much the instance's clock jumps, StepAfter the launch.
	Step, StepAfter time.Duration
}

// Options of the platform. The zero is one that works, named "fake".
type Options struct {
	Name  string
	Label string
	// Check, Open fail with these if not nil.
	Check, Open error
	// Fault chooses what goes wrong with a launch; nil is nothing.
	Fault func(bench.Launch) Fault
}

// Platform implements [bench.Platform].
type Platform struct{ o Options }

// New returns the platform.
func New(o Options) *Platform {
	if o.Name == "" {
		o.Name = "fake"
	}
	if o.Fault == nil {
		o.Fault = func(bench.Launch) Fault { return Fault{} }
	}
	return &Platform{o}
}

// Name is that of the options.
func (p *Platform) Name() string { return p.o.Name }

// Summary is one line for people.
func (*Platform) Summary() string { return "plain processes without isolation, for tests" }

// Traits are none.
func (*Platform) Traits() bench.Traits { return bench.Traits{} }

// Options are none.
func (*Platform) Options() []bench.Option { return nil }

// Check succeeds unless told otherwise.
func (p *Platform) Check(context.Context) (bench.Availability, error) {
	if p.o.Check != nil {
		return bench.Availability{}, p.o.Check
	}
	return bench.Availability{Version: "1", Label: p.o.Label}, nil
}

// Open succeeds unless told otherwise.
func (p *Platform) Open(_ context.Context, e bench.Env) (bench.Engine, error) {
	if p.o.Open != nil {
		return nil, p.o.Open
	}
	return &engine{env: e, fault: p.o.Fault}, nil
}

type engine struct {
	env   bench.Env
	fault func(bench.Launch) Fault
}

func (*engine) Close(context.Context) error { return nil }

// unenforced is every limit there is.
var unenforced = []string{
	"cpu set", "cpu quota", "cpu weight", "memory limit", "soft memory limit", "swap limit", "pids limit", bench.DiskSize,
}

// Start starts the agent.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{launch: l, fault: e.fault(l), ledger: e.env.Ledger, ended: make(chan struct{})}
	if err := e.start(ctx, i); err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, err)
	}
	return i, nil
}

func (e *engine) start(ctx context.Context, i *instance) error {
	if i.fault.Start != nil {
		return i.fault.Start
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	i.command = []string{e.env.AgentPath, "serve"}
	if i.fault.Silent {
		i.command = []string{"sleep", "86400"}
	}
	i.cmd = exec.Command(i.command[0], i.command[1:]...)
	i.cmd.Dir = i.launch.Dir
	i.cmd.Env = append(os.Environ(), bench.ProcessMark+"="+i.launch.ID)
	i.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	words, err := os.Create(i.log())
	if err != nil {
		return err
	}
	defer words.Close()
	i.cmd.Stderr = words
	if err := e.env.Ledger.Register(bench.KindProcess, i.launch.ID); err != nil {
		return err
	}
	if err := i.begin(); err != nil {
		_ = i.pipes.Close()
		return errors.Join(err, e.env.Ledger.Release(bench.KindProcess, i.launch.ID))
	}
	return nil
}

// instance is one agent.
type instance struct {
	launch   bench.Launch
	fault    Fault
	ledger   bench.Ledger
	cmd      *exec.Cmd
	command  []string
	pipes    *pipes
	launched int64
	ended    chan struct{}
}

// begin starts the process and reaps it once it ends.
func (i *instance) begin() (err error) {
	i.pipes = &pipes{closed: make(chan struct{})}
	if i.fault.DeafAfter > 0 {
		i.pipes.deaf = time.Now().Add(i.fault.DeafAfter)
	}
	var stdin, stdout *os.File
	if stdin, i.pipes.in, err = os.Pipe(); err != nil {
		return err
	}
	defer stdin.Close()
	if i.pipes.out, stdout, err = os.Pipe(); err != nil {
		return err
	}
	defer stdout.Close()
	i.cmd.Stdin, i.cmd.Stdout = stdin, stdout
	if i.fault.DieAfter > 0 {
		i.pipes.heard = func() { time.AfterFunc(i.fault.DieAfter, func() { _ = i.cmd.Process.Kill() }) }
	}
	i.launched = clock.Now()
	i.pipes.said = i.pipes.out
	if i.fault.Step != 0 {
		i.pipes.said = &stepped{r: i.pipes.out, by: int64(i.fault.Step), at: i.launched + int64(i.fault.StepAfter)}
	}
	if err := i.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = i.cmd.Wait() // its end is seen in the stream
		close(i.ended)
	}()
	return nil
}

func (i *instance) log() string                { return filepath.Join(i.launch.Dir, "words") }
func (i *instance) Stream() io.ReadWriteCloser { return i.pipes }
func (i *instance) Launched() int64            { return i.launched }
func (i *instance) Command() []string          { return slices.Clone(i.command) }
func (i *instance) Addr() netip.Addr           { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
func (i *instance) Unenforced() []string       { return slices.Clone(unenforced) }

// Scope is the agent itself, for there is no cgroup.
func (i *instance) Scope() (bench.Scope, error) {
	return bench.Scope{Helpers: []bench.Process{{PID: i.cmd.Process.Pid, Part: "agent"}}}, nil
}

// Log is what the agent wrote to its standard error.
func (i *instance) Log() string {
	text, err := os.ReadFile(i.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// Close lets the agent end its commands, which it does when its stream closes,
// and kills it if it does not end.
func (i *instance) Close(ctx context.Context) error {
	_ = i.pipes.Close() // the client may have closed it
	wait := grace
	if i.fault.Silent {
		wait = 0
	}
	select {
	case <-i.ended:
	case <-time.After(wait):
	case <-ctx.Done():
	}
	_ = i.cmd.Process.Kill() // it may have ended
	<-i.ended
	if err := i.ledger.Release(bench.KindProcess, i.launch.ID); err != nil {
		return err
	}
	return i.fault.Close
}

// grace is how long the agent may take to end its commands.
const grace = 2 * time.Second

// pipes are the agent's standard streams.
type pipes struct {
	out, in *os.File
	said    io.Reader // out, as it is passed on
	deaf    time.Time // from then on a Write waits for Close; the zero is never
	closed  chan struct{}
	heard   func() // called at the first byte, if not nil
	once    sync.Once
	closing sync.Once
}

func (p *pipes) Read(b []byte) (int, error) {
	n, err := p.said.Read(b)
	if n > 0 && p.heard != nil {
		p.once.Do(p.heard)
	}
	return n, err
}

func (p *pipes) Write(b []byte) (int, error) {
	if !p.deaf.IsZero() && time.Now().After(p.deaf) {
		<-p.closed
		return 0, io.ErrClosedPipe
	}
	return p.in.Write(b)
}

func (p *pipes) Close() error {
	p.closing.Do(func() { close(p.closed) })
	for _, f := range []*os.File{p.in, p.out} {
		if f != nil {
			f.Close()
		}
	}
	return nil
}

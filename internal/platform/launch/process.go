package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// Process is a program in the foreground whose standard input and output lead
// to the agent inside the instance.
type Process struct {
	cmd      *exec.Cmd
	stream   stream
	watched  *Watched // the stream, beside what the program prints
	log      *Log
	launched int64
	spawned  int64
	done     chan struct{}
	err      error // of Wait, once done is closed
}

// Start starts cmd in a session of its own, keeps its standard error in the
// file words, as [Words] does, and stamps the moment right before. A signal from the user's
// terminal does not reach it. Ending cmd is the caller's business: see [Process.Stop].
func Start(cmd *exec.Cmd, words string) (*Process, error) {
	said, err := OpenLog(words)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	defer said.Given()
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	defer childOut.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, said.Pipe()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	p := &Process{cmd: cmd, log: said, stream: stream{out: out, in: in}, done: make(chan struct{}), launched: clock.Now()}
	if err := cmd.Start(); err != nil {
		p.stream.Close()
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p.spawned = clock.Now()
	p.watched = Watch(p.stream, words).Of(said)
	go func() {
		p.err = cmd.Wait()
		said.Sync() // its last words are there for whoever hears of its end
		close(p.done)
	}()
	return p, nil
}

// Stream leads to the program's standard input and from its standard output. It ends
// with the program, or once its words say that nothing inside goes on: see [Watched].
func (p *Process) Stream() io.ReadWriteCloser { return p.watched }

// Untaken is how many bytes that were sent the program has not read yet.
func (p *Process) Untaken() (n int, err error) {
	raw, err := p.stream.in.SyscallConn() // asking for its descriptor would make it block
	if err != nil {
		return 0, fmt.Errorf("bytes on the way to %s: %w", p.cmd.Path, err)
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); cerr != nil { // FIONREAD
		err = cerr
	}
	if err != nil {
		return 0, fmt.Errorf("bytes on the way to %s: %w", p.cmd.Path, err)
	}
	return n, nil
}

// Launched is when the program was started, in nanoseconds of CLOCK_MONOTONIC.
func (p *Process) Launched() int64 { return p.launched }

// Trace is the start of the program: from the stamp until it is executed, for
// until then its parent waits.
func (p *Process) Trace() []bench.Span {
	return []bench.Span{Own("start the program", p.launched, p.spawned)}
}

// Own is a span of a driver's own work, by the host's clock.
func Own(name string, from, to int64) bench.Span {
	return bench.Span{Name: name, Start: from, End: to, Whose: bench.OfTare, Source: "host's clock"}
}

// HeldUp reports whether the program had to wait at its standard error; see [Words].
func (p *Process) HeldUp() bool { return p.log.HeldUp() }

// PID is the program's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the program has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// State says in words how the program ended, or that it runs.
func (p *Process) State() string {
	if p.Running() {
		return "running"
	}
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// Stop closes the stream and returns when the program has ended. It is killed
// if it has not by itself within grace, or once ctx is done.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	p.watched.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.Kill()
}

// Terminate asks the program to end, by SIGTERM.
func (p *Process) Terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s (process %d): %w", p.cmd.Path, p.PID(), err)
	}
	return nil
}

// reaping is how long a killed process may take to end; longer means that the
// kernel holds it.
const reaping = 10 * time.Second

// Kill kills the program, with what it has started and not put into a session of
// its own, and returns when it has ended.
func (p *Process) Kill() error {
	if err := syscall.Kill(-p.PID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s (process %d): %w", p.cmd.Path, p.PID(), err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(reaping):
		return fmt.Errorf("kill %s (process %d): still there after %v", p.cmd.Path, p.PID(), reaping)
	}
}

// stream joins the two pipes.
type stream struct{ out, in *os.File }

func (s stream) Read(p []byte) (int, error)  { return s.out.Read(p) }
func (s stream) Write(p []byte) (int, error) { return s.in.Write(p) }
func (s stream) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

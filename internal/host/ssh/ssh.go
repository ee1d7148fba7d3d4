// Package ssh runs the agent on further hosts. It reaches them by the user's own ssh program and
// configuration, with one connection for each, and asks nobody anything.
//
// The commands there are fixed. What they are handed is checked and quoted, so no shell reads
// anything of a specification.
package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/host/tool"
)

// connectWithin bounds the making of a connection.
const connectWithin = 20 * time.Second

// copyWithin bounds the copying of the agent, which has some megabytes.
const copyWithin = 2 * time.Minute

// Host is a further host that is connected, with the agent on it.
type Host struct {
	bench.FurtherHost
	// Kernel is its kernel's release.
	Kernel string
	CPUs   int // that it has
	// Facts are told of every instance on it.
	Facts map[string]string

	ledger bench.Ledger
	socket string // of the connection, here
	place  string // the name of the directory there, and the mark of what runs there
	mark   string // of the connection's process here

	mu     sync.Mutex
	master *exec.Cmd
	ended  chan struct{} // closed when master has
	said   *words        // its complaints
}

// Connect connects the host and copies the agent to it. The connection's socket is in dir, which
// only root may enter. What it makes is in the ledger before. If it fails it leaves nothing behind;
// the error wraps [bench.ErrUnavailable] and says what to do.
func Connect(ctx context.Context, to bench.FurtherHost, agent, dir string, led bench.Ledger) (*Host, error) {
	if err := to.Check(); err != nil {
		return nil, err
	}
	place := placePrefix + random()
	h := &Host{FurtherHost: to, ledger: led, place: place, mark: "ssh-" + place, socket: filepath.Join(dir, "ssh-"+place[len(placePrefix):][:8])}
	if err := led.Register(bench.KindProcess, h.mark); err != nil {
		return nil, err
	}
	err := h.open(ctx)
	if err == nil {
		err = h.look(ctx)
	}
	if err == nil {
		err = h.put(ctx, agent)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host %s: %w", to.Name, err), h.Close(context.WithoutCancel(ctx)))
	}
	return h, nil
}

func random() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// options are those of every call: nobody is asked, nothing is forwarded, and a connection that is
// lost is noticed within half a minute.
func options(config string) []string {
	args := []string{"-T"}
	if config != "" {
		args = append(args, "-F", config)
	}
	for _, o := range []string{"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=5",
		"ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RemoteCommand=none", "ControlPersist=no"} {
		args = append(args, "-o", o)
	}
	return args
}

// command is ssh with the arguments, apart from the terminal: Ctrl-C must not end a connection that
// is yet to be put in order.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command("ssh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// over is ssh through the connection that is open; it never makes another.
func (h *Host) over(script string, args ...string) *exec.Cmd {
	o := append(options(h.Config), "-S", h.socket, "-o", "ControlMaster=no", "-o", "ProxyCommand=none", "-o", "CanonicalizeHostname=no", "-o", "Hostname=connection.invalid", "--", h.Name, line(script, args...))
	return command(o...)
}

// open makes the connection, unless it is open.
func (h *Host) open(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alive() {
		return nil
	}
	if _, err := exec.LookPath("ssh"); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("install the package openssh-client"))
	}
	if err := os.Remove(h.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectWithin, tool.Late(connectWithin))
	defer cancel()
	cmd := command(append(options(h.Config), "-M", "-N", "-S", h.socket, "--", h.Name)...)
	cmd.Env = append(os.Environ(), bench.ProcessMark+"="+h.mark)
	said := &words{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what it said tells why
		close(ended)
	}()
	h.master, h.ended, h.said = cmd, ended, said
	for {
		if _, err := os.Stat(h.socket); err == nil { // made once it is let in
			return nil
		}
		select {
		case <-ended:
			return explained(said.String(), h.FurtherHost)
		case <-ctx.Done():
			h.hangUp()
			return fmt.Errorf("it is not connected: %w: %w%w", context.Cause(ctx), bench.ErrUnavailable, byHand(h.FurtherHost))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// alive says that the connection is open. mu is held.
func (h *Host) alive() bool {
	if h.master == nil {
		return false
	}
	select {
	case <-h.ended:
		return false
	default:
		return true
	}
}

// hangUp ends the connection. mu is held.
func (h *Host) hangUp() {
	if h.master == nil {
		return
	}
	_ = h.master.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-h.ended:
	case <-time.After(time.Second):
		_ = h.master.Process.Kill()
		<-h.ended
	}
	h.master = nil
}

// machines are the names that uname(1) has for what Go calls otherwise.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x"}

// look learns what the host is, and refuses one on which the agent cannot run.
func (h *Host) look(ctx context.Context) error {
	out, err := h.run(ctx, tool.Deadline, nil, lookScript)
	if err != nil {
		return err
	}
	return h.read(out)
}

// Try is an error for a host that cannot be used. It leaves nothing there.
func Try(ctx context.Context, to bench.FurtherHost) error {
	if err := to.Check(); err != nil {
		return err
	}
	out, err := once(ctx, to, lookScript)
	if err == nil {
		err = (&Host{FurtherHost: to}).read(out)
	}
	if err != nil {
		return fmt.Errorf("host %s: %w", to.Name, err)
	}
	return nil
}

// read takes what a host says of itself.
func (h *Host) read(out []byte) (err error) {
	lines := strings.Split(strings.TrimSpace(behind(out)), "\n")
	if len(lines) != 5 {
		return fmt.Errorf("it says %.200q instead of what it is: %w%w", out, bench.ErrUnavailable, bench.Hint("its login shell must run commands, as in: ssh "+h.Name+" uname -a"))
	}
	switch system, machine, user := lines[0], lines[1], lines[3]; {
	case system != "Linux":
		return fmt.Errorf("it runs %.40q: further hosts run Linux: %w", system, bench.ErrUnavailable)
	case machine != machines[runtime.GOARCH]:
		return fmt.Errorf("it is %.40q, and the agent here is built for %s: %w%w", machine, machines[runtime.GOARCH], bench.ErrUnavailable, bench.Hint("take a host of the same architecture"))
	case user != "0":
		return fmt.Errorf("ssh enters it as user %.20q, and the agent needs root there: %w%w", user, bench.ErrUnavailable, bench.Hint("say User root for the host in the configuration of ssh"))
	}
	if h.CPUs, err = strconv.Atoi(lines[4]); err != nil || h.CPUs < 1 {
		return fmt.Errorf("it says it has %.20q CPUs: %w", lines[4], bench.ErrUnavailable)
	}
	h.Kernel = lines[2]
	return nil
}

// behind is what a script told: a shell may greet before.
func behind(out []byte) string {
	_, rest, _ := strings.Cut(string(out), told+"\n")
	return rest
}

// put makes the directory there and copies the agent into it.
func (h *Host) put(ctx context.Context, agent string) error {
	program, err := os.ReadFile(agent)
	if err != nil {
		return fmt.Errorf("read the agent: %w", err)
	}
	if err := h.ledger.Register(bench.KindRemote, h.Thing()); err != nil {
		return err
	}
	out, err := h.run(ctx, copyWithin, program, putScript, h.place)
	if err != nil {
		return fmt.Errorf("copy the agent: %w", err)
	}
	digest := sha256.Sum256(program)
	if got, _, _ := strings.Cut(behind(out), " "); got != hex.EncodeToString(digest[:]) {
		return fmt.Errorf("the agent that arrived there is another one (SHA-256 %.64q): %w", got, bench.ErrUnavailable)
	}
	return nil
}

// run has the host run a script and returns what it prints.
func (h *Host) run(ctx context.Context, limit time.Duration, stdin []byte, script string, args ...string) ([]byte, error) {
	cmd := h.over(script, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := tool.Output(ctx, limit, cmd)
	if err != nil {
		return nil, h.lost(err)
	}
	return out, nil
}

// noticed is how long the end of the connection may take to be known after what went over it has ended.
const noticed = 500 * time.Millisecond

// lost says of a failure that the connection is gone, if it is.
func (h *Host) lost(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.master != nil {
		select {
		case <-h.ended:
		case <-time.After(noticed):
			return err
		}
	}
	return fmt.Errorf("the connection to %s is lost: %s: %w%w", h.Name, h.said, err,
		bench.Hint("see whether "+h.Name+" is up and its network holds; tare clean removes what is left there"))
}

// Close removes from the host what was put there and hangs up. What cannot be removed stays in the ledger.
func (h *Host) Close(ctx context.Context) error {
	var errs []error
	h.mu.Lock()
	reached := h.alive()
	h.mu.Unlock()
	if reached {
		if _, err := h.run(ctx, tool.Deadline, nil, removeScript, h.place); err != nil {
			errs = append(errs, fmt.Errorf("remove %s from host %s: %w", h.dir(), h.Name, err))
		} else {
			errs = append(errs, h.ledger.Release(bench.KindRemote, h.Thing()))
		}
	} else if h.Kernel != "" {
		errs = append(errs, fmt.Errorf("remove %s from host %s: %w", h.dir(), h.Name, h.lost(bench.ErrUnavailable)))
	}
	h.mu.Lock()
	h.hangUp()
	h.mu.Unlock()
	errs = append(errs, h.ledger.Release(bench.KindProcess, h.mark))
	return errors.Join(errs...)
}

// dir is the directory there.
func (h *Host) dir() string { return places + h.place }

package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// TrialLimit is how long a trial boot may take. Where virtualization works it
// takes about a second.
const TrialLimit = 20 * time.Second

// alive is what the agent prints on the console first thing as init: proof that
// the guest's kernel got as far as running a program.
const alive = "tare-agent"

// errNotTried says that there is no verdict yet.
var errNotTried = fmt.Errorf("not tried yet since the host booted: %w", bench.ErrUnavailable)

// trial decides whether KVM runs an ordinary guest. Neither /dev/kvm nor the
// CPU's flags tell: a paravirtual backend opens, makes virtual machines, and
// then fails to run a stock kernel.
type trial struct {
	state string // directory of the verdict
	host  string // where the host's files lie, "/" except in tests
}

// verdict is what became of a trial, kept as JSON. It holds for one boot of the
// host and one version of QEMU.
type verdict struct {
	Boot   string  `json:"boot"`
	QEMU   string  `json:"qemu"`
	Works  bool    `json:"works"`
	Reason string  `json:"reason,omitempty"` // why it does not
	Took   float64 `json:"took_s"`
	At     string  `json:"at"` // RFC 3339
}

func (t *trial) file() string { return filepath.Join(t.state, "kvm.json") }

// check gives the verdict there is, or errNotTried.
func (t *trial) check(version string) error {
	s, err := readSigns(t.host)
	if err != nil {
		return err
	}
	if err := s.refuse(); err != nil {
		return err
	}
	boot, err := t.bootID()
	if err != nil {
		return err
	}
	v, err := t.load()
	switch {
	case err != nil:
		return err
	case v.Boot != boot || v.QEMU != version:
		err := errNotTried
		if why := s.explain(); why != "" {
			err = fmt.Errorf("%w (%s)", err, why)
		}
		return fmt.Errorf("%w%w", err, bench.Hint(fmt.Sprintf(
			"the next run tries it, by booting a small guest for at most %v", TrialLimit)))
	case !v.Works:
		why := s.explain()
		if why != "" {
			why = "; " + why
		}
		return fmt.Errorf("a trial boot failed: %s%s: %w%w", v.Reason, why, bench.ErrUnavailable, bench.Hint(
			"use a host with virtualization of its own, or qemu-tcg, which is emulated; to try again remove "+t.file()))
	}
	return nil
}

// run boots a guest, keeps the verdict and returns it as check does. What keeps
// it from trying is another error, and no verdict.
func (t *trial) run(ctx context.Context, e bench.Env, a accel, version string) error {
	boot, err := t.bootID()
	if err != nil {
		return err
	}
	began := time.Now()
	failure, err := tryBoot(ctx, e, a)
	if err != nil {
		return fmt.Errorf("trial boot: %w", err)
	}
	v := verdict{Boot: boot, QEMU: version, Works: failure == "", Reason: failure,
		Took: time.Since(began).Seconds(), At: began.Format(time.RFC3339)}
	if err := t.save(v); err != nil {
		return err
	}
	return t.check(version)
}

// tryBoot boots the guest's kernel with the agent as init, without disks or
// network, until the agent shows. It returns why it did not, or "".
func tryBoot(ctx context.Context, e bench.Env, a accel) (failure string, err error) {
	kernel, initrd, err := vm.Boot(ctx, e)
	if err != nil {
		return "", err
	}
	path, err := launch.Program(program)
	if err != nil {
		return "", err
	}
	id := e.Run + "-trial"
	if err := e.Ledger.Register(bench.KindProcess, id); err != nil {
		return "", err
	}
	limit, cancel := context.WithTimeout(ctx, TrialLimit)
	defer cancel()
	console := &console{seen: cancel}
	cmd := exec.CommandContext(limit, path, "-name", id, "-accel", a.arg, "-cpu", a.cpu,
		"-machine", machineArg["q35"], "-m", "256M", "-nodefaults", "-no-user-config", "-display", "none",
		"-no-reboot", "-serial", "stdio", "-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 panic=-1")
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + id}
	cmd.Stdout, cmd.Stderr = console, console
	cmd.WaitDelay = killTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ended := cmd.Run()
	if err := e.Ledger.Release(bench.KindProcess, id); err != nil {
		return "", err
	}
	switch {
	case console.shows():
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limit.Err() != nil:
		return fmt.Sprintf("no program ran in the guest within %v; it %s", TrialLimit, console.lastWords()), nil
	case ended != nil:
		return fmt.Sprintf("QEMU ended with %v; it %s", ended, console.lastWords()), nil
	}
	return "the guest ended by itself; it " + console.lastWords(), nil
}

// console takes what QEMU and the guest print and calls seen once the agent shows.
type console struct {
	seen func()
	mu   sync.Mutex
	text []byte
}

// maxConsole bounds what is kept of a console, in bytes; a boot prints some 30 KiB.
const maxConsole = 1 << 20

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if bytes.Contains(c.text, []byte(alive)) {
		c.seen()
	}
	if len(c.text) > maxConsole {
		c.text = append([]byte(nil), c.text[len(c.text)-maxConsole/2:]...)
	}
	return len(p), nil
}

func (c *console) shows() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.text, []byte(alive))
}

// lastWords is the end of what was printed, as a part of a sentence.
func (c *console) lastWords() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(c.text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Sprintf("last said %.200q", last)
	}
	return "said nothing"
}

// load reads the verdict. None, or one that cannot be read, is the zero
// verdict, which holds for no boot.
func (t *trial) load() (verdict, error) {
	text, err := os.ReadFile(t.file())
	if errors.Is(err, fs.ErrNotExist) {
		return verdict{}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("read verdict: %w", err)
	}
	var v verdict
	if json.Unmarshal(text, &v) != nil {
		return verdict{}, nil // it was cut short; the next trial writes it again
	}
	return v, nil
}

func (t *trial) save(v verdict) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	if err := os.MkdirAll(t.state, 0o755); err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	if err := os.WriteFile(t.file(), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	return nil
}

// bootID identifies this boot of the host.
func (t *trial) bootID() (string, error) {
	text, err := os.ReadFile(filepath.Join(t.host, "proc/sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("boot of the host: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

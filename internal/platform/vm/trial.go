package vm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/bench"
)

// ErrNotTried says that there is no verdict yet.
var ErrNotTried = fmt.Errorf("not tried yet since the host booted: %w", bench.ErrUnavailable)

// TrialLimit is how long a trial boot may take. Where virtualization works it
// takes about a second.
const TrialLimit = 20 * time.Second

// A Trial decides whether KVM runs an ordinary guest. Neither /dev/kvm nor the
// CPU's flags tell: a paravirtual backend opens, makes virtual machines, and
// then fails to run a stock kernel.
type Trial struct {
	Monitor string // the program that boots the guest, such as "qemu"
	State   string // directory of the verdict
	// Argv is the monitor's command line for a guest without disks or network whose
	// serial console, with "console=ttyS0 panic=-1", is on the standard streams.
	Argv func(ctx context.Context, e bench.Env, id, kernel, initrd string) ([]string, error)
	host string // where the host's files lie, "/" if empty
}

func (t *Trial) root() string { return cmp.Or(t.host, "/") }

// verdict is what became of a trial, kept as JSON. It holds for one boot of the
// host and one version of the monitor.
type verdict struct {
	Boot    string  `json:"boot"`
	Version string  `json:"version"` // of the monitor
	Works   bool    `json:"works"`
	Reason  string  `json:"reason,omitempty"` // why it does not
	Took    float64 `json:"took_s"`
	At      string  `json:"at"` // RFC 3339
}

func (t *Trial) file() string { return filepath.Join(t.State, "kvm-"+t.Monitor+".json") }

// Check gives the verdict there is for that version of the monitor: nil, or an
// error that wraps [bench.ErrUnavailable], of which [ErrNotTried] is one.
func (t *Trial) Check(version string) error {
	s, err := readSigns(t.root())
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
	case v.Boot != boot || v.Version != version:
		err := ErrNotTried
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

// Probe boots a guest where there is no verdict yet, keeps the verdict and returns
// it as Check does. What keeps it from trying is another error, and no verdict.
func (t *Trial) Probe(ctx context.Context, e bench.Env, version string) error {
	if err := t.Check(version); !errors.Is(err, ErrNotTried) {
		return err
	}
	boot, err := t.bootID()
	if err != nil {
		return err
	}
	began := time.Now()
	failure, err := t.TryBoot(ctx, e)
	if err != nil {
		return fmt.Errorf("trial boot: %w", err)
	}
	v := verdict{Boot: boot, Version: version, Works: failure == "", Reason: failure,
		Took: time.Since(began).Seconds(), At: began.Format(time.RFC3339)}
	if err := t.save(v); err != nil {
		return err
	}
	return t.Check(version)
}

// load reads the verdict. None, or one that cannot be read, is the zero
// verdict, which holds for no boot.
func (t *Trial) load() (verdict, error) {
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

func (t *Trial) save(v verdict) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	if err := os.MkdirAll(t.State, 0o755); err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	if err := os.WriteFile(t.file(), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep verdict: %w", err)
	}
	return nil
}

// bootID identifies this boot of the host.
func (t *Trial) bootID() (string, error) {
	text, err := os.ReadFile(filepath.Join(t.root(), "proc/sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("boot of the host: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

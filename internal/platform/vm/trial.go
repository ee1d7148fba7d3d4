package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/trial"
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

// Kept are the verdicts.
func Kept() []bench.Kept {
	return []bench.Kept{{Pattern: "kvm*.json", What: "whether KVM boots a guest here"}}
}

func (t *Trial) root() string { return cmp.Or(t.host, "/") }

func (t *Trial) book() trial.Book { return trial.Book{State: t.State, Host: t.host} }

// name is that of the verdict.
func (t *Trial) name() string { return "kvm-" + t.Monitor }

func (t *Trial) file() string { return t.book().File(t.name()) }

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
	v, ok, err := t.book().Look(t.name(), version)
	switch {
	case err != nil:
		return err
	case !ok:
		err := ErrNotTried
		if v.Late {
			err = fmt.Errorf("%w: the last trial boot was given up: %s", err, v.Reason)
		}
		if why := s.explain(); why != "" {
			err = fmt.Errorf("%w (%s)", err, why)
		}
		return fmt.Errorf("%w%w", err, bench.Hint(fmt.Sprintf(
			"the next run that uses it tries it, by booting a small guest for at most %v", TrialLimit)))
	case !v.Works:
		why := s.explain()
		if why != "" {
			why = "; " + why
		}
		again := "to try again remove " + t.file()
		if v.Late {
			again = "the host may also have been too busy: the next run tries again"
		}
		return fmt.Errorf("a trial boot failed: %s%s: %w%w", v.Reason, why, bench.ErrUnavailable, bench.Hint(
			"use a host with virtualization of its own, or qemu-tcg, which is emulated; "+again))
	}
	return nil
}

// Probe boots a guest where there is no verdict yet, keeps the verdict and returns
// it as Check does. What keeps it from trying is another error, and no verdict.
func (t *Trial) Probe(ctx context.Context, e bench.Env, version string) error {
	if err := t.Check(version); !errors.Is(err, ErrNotTried) {
		return err
	}
	began := time.Now()
	failed, err := t.TryBoot(ctx, e)
	if err != nil {
		return fmt.Errorf("trial boot: %w", err)
	}
	if err := t.book().Keep(t.name(), version, began, failed); err != nil {
		return err
	}
	return t.Check(version)
}

// NestingMemory is what an outer guest has beyond a machine's that runs in it.
const NestingMemory = 768 * bench.MiB

// NestingModules are those that an outer guest's kernel needs to run machines.
func NestingModules() []string { return []string{"tun", "vhost_net", "kvm_amd", "kvm_intel"} }

package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/verify/powercut"
)

// madeAs registers a directory of the name and then makes it.
func madeAs(l *Ledger, name string) error {
	dir := filepath.Join(l.dir, name)
	if err := l.Register(bench.KindDir, dir); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(dir, "deep"), 0o755)
}

// checkKnown looks whether every directory that a loss of power left is registered.
func checkKnown(state string) error {
	left, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := Open(state, "next")
	if err != nil {
		return err
	}
	held, _ := l.Held() // a bad line is not an entry
	for _, d := range left {
		known := slices.ContainsFunc(held, func(e Entry) bool { return filepath.Base(e.Name) == d.Name() })
		if d.IsDir() && !known {
			return fmt.Errorf("%s is there and not registered", d.Name())
		}
	}
	return nil
}

// TestDurable loses the power at every moment of a run's bookkeeping: whatever is then on disk is registered.
func TestDurable(t *testing.T) {
	powercut.Run(t, powercut.Scenario{
		Act: func(dir string, promise func(string)) error {
			l, err := Open(filepath.Join(dir, "state"), "run")
			if err != nil {
				return err
			}
			if err := madeAs(l, "a"); err != nil {
				return err
			}
			if err := os.RemoveAll(filepath.Join(l.dir, "a")); err != nil {
				return err
			}
			if err := l.Release(bench.KindDir, filepath.Join(l.dir, "a")); err != nil {
				return err
			}
			return madeAs(l, "b")
		},
		Check: func(dir string, _ []string) error { return checkKnown(filepath.Join(dir, "state")) },
		Guards: `
sync state/ledger.jsonl: before make state/a
sync state: before make state/a
sync state: before write state/ledger.jsonl
sync state/ledger.jsonl: before make state/b
`,
	})
}

// livingAnd registers and makes what a living process has in the directory, and what a dead one had.
func livingAnd(dir string, dead ...string) error {
	l, err := Open(dir, "living")
	if err != nil {
		return err
	}
	if err := madeAs(l, "live"); err != nil {
		return err
	}
	l.owner.Start++ // another process, whose number was given anew
	for _, name := range dead {
		if err := madeAs(l, name); err != nil {
			return err
		}
	}
	return nil
}

// TestDurableClean loses the power while what a dead run has left is cleaned: what is back after it is still registered, and so is what is
// made next.
func TestDurableClean(t *testing.T) {
	powercut.Run(t, powercut.Scenario{
		Before: func(dir string) error { return livingAnd(dir, "left") },
		Act: func(dir string, promise func(string)) error {
			if err := Clean(context.Background(), dir, false, func(Removed) {}); err != nil {
				return err
			}
			l, err := Open(dir, "next")
			if err != nil {
				return err
			}
			return madeAs(l, "next")
		},
		Check: func(dir string, _ []string) error { return checkKnown(dir) },
		Guards: `
sync .: before rename to ledger.jsonl
sync ledger.jsonl.new: before rename to ledger.jsonl
sync .: before make next
sync ledger.jsonl: before make next
`,
	})
}

// TestDurableAside loses the power while a line is set aside that cannot be read: it stays in one place or the other, and
// what a living process has made stays registered.
func TestDurableAside(t *testing.T) {
	const bad = `{"op":"register","kind":"`
	powercut.Run(t, powercut.Scenario{
		Before: func(dir string) error {
			if err := livingAnd(dir); err != nil {
				return err
			}
			f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(bad + "\n")
			return err
		},
		Act: func(dir string, promise func(string)) error {
			if err := Clean(context.Background(), dir, false, func(Removed) {}); err == nil || !strings.Contains(err.Error(), "not an entry") {
				return fmt.Errorf("clean: %w", err)
			}
			promise("set aside")
			return nil
		},
		Check: func(dir string, promised []string) error {
			book, err := os.ReadFile(filepath.Join(dir, fileName))
			if err != nil {
				return err
			}
			aside, err := os.ReadFile(filepath.Join(dir, corruptName))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			there, kept := strings.Contains(string(book), bad+"\n"), strings.Contains(string(aside), bad+"\n")
			switch {
			case !there && !kept:
				return errors.New("the line is lost")
			case there && len(promised) > 0:
				return errors.New("the line is where it was, and is set aside again the next time")
			}
			return checkKnown(dir)
		},
		Guards: `
sync ledger.corrupt: before rename to ledger.jsonl
sync .: before rename to ledger.jsonl
sync ledger.jsonl.new: before rename to ledger.jsonl
sync .: before "set aside"
`,
	})
}

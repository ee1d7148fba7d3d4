package ledger

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tare/internal/bench"
)

// Removed says what cleaning did about one thing.
type Removed struct {
	Kind, Name, Run string
	Err             error // why it is still there; nil when it is gone
}

// order is the order of removal: whatever may use a thing goes before it.
var order = []string{
	bench.KindDomain, bench.KindProcess, bench.KindCgroup, bench.KindSwap, bench.KindMount, bench.KindMapped, bench.KindLoop,
	bench.KindTap, bench.KindNetNS, bench.KindDir, bench.KindNote, bench.KindSetting,
}

// Clean removes everything in the ledger of the state directory whose owner is
// dead; with force also what belongs to the living, this process excepted. It
// reports each thing and goes on after a failure, whose entry stays for the
// next time. It may be repeated at any moment. Lines that cannot be read are
// part of the error and are set aside.
func Clean(ctx context.Context, stateDir string, force bool, report func(Removed)) error {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever made
	}
	unlock, err := lock(dir, cleanName)
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	defer unlock()
	me, err := self("")
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	book, err := readLocked(dir)
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	errs := book.corrupt()
	gone := map[Entry]bool{}
	for _, e := range removable(held(book.entries)) {
		mine := e.Owner.PID == me.PID && e.Owner.Start == me.Start && e.Owner.Boot == me.Boot
		lives, err := e.Owner.lives(me.Boot)
		if err == nil && lives && (mine || !force) {
			continue
		}
		if err == nil {
			err = remove(ctx, dir, me.Boot, e)
		}
		if err != nil {
			err = fmt.Errorf("clean %s %q: %w", e.Kind, e.Name, err)
			errs = append(errs, err)
		} else {
			gone[e] = true
		}
		report(Removed{e.Kind, e.Name, e.Owner.Run, err})
	}
	if err := compact(dir, gone); err != nil {
		errs = append(errs, fmt.Errorf("clean: %w", err))
	}
	return errors.Join(errs...)
}

// removable puts entries into the order of removal; within a kind the last
// made goes first.
func removable(entries []Entry) []Entry {
	list := slices.Clone(entries)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return list
}

func readLocked(dir string) (book, error) {
	unlock, err := lock(dir, lockName)
	if err != nil {
		return book{}, err
	}
	defer unlock()
	return readBook(dir)
}

// compact replaces the ledger by one that holds only what is still registered
// and not gone. Other processes may have added to it while things were removed.
func compact(dir string, gone map[Entry]bool) error {
	unlock, err := lock(dir, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	book, err := readBook(dir)
	if err != nil {
		return err
	}
	if err := setAside(dir, book.bad); err != nil {
		return err
	}
	keep := slices.DeleteFunc(held(book.entries), func(e Entry) bool { return gone[e] })
	path := filepath.Join(dir, fileName)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range keep {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// setAside keeps the lines that could not be read for the user to look at.
func setAside(dir string, bad []badLine) error {
	if len(bad) == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, corruptName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	for _, l := range bad {
		if _, err := fmt.Fprintln(f, l.text); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

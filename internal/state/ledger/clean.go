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
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Removed says what cleaning did about one thing.
type Removed struct {
	Kind, Name, Run string
	Err             error // why it is still there; nil when it is gone, or was left alone
	// Left is why it was left alone: its owner is dead, and it is where this process cannot see. Else "".
	Left string
}

// order is the order of removal: whatever may use a thing goes before it.
var order = []string{
	bench.KindRemote, bench.KindJob, bench.KindPod, bench.KindDomain, bench.KindProcess, bench.KindCgroup, bench.KindSwap, bench.KindMount, bench.KindMapped, bench.KindLoop,
	bench.KindTap, bench.KindNetNS, bench.KindDir, bench.KindPlace, bench.KindNote, bench.KindSetting,
}

// A Cleaner removes what dead owners have left.
type Cleaner struct {
	Dir string // the state directory
	// Force: also what belongs to the living, this process excepted.
	Force bool
	// Apart is the command that calls [RemoveApart], by which what may hang in the
	// kernel is removed: a process whose thread hangs there cannot end. With none
	// this process does it.
	Apart []string

	limit time.Duration // of each removal; 0: as its kind needs
}

// Clean is that of a [Cleaner] that has nothing done apart.
func Clean(ctx context.Context, stateDir string, force bool, report func(Removed)) error {
	return Cleaner{Dir: stateDir, Force: force}.Clean(ctx, report)
}

// Clean removes everything in the ledger whose owner is dead. It reports each
// thing, gives it up at a deadline of its own and goes on after a failure, whose
// entry stays for the next time. What another machine has made, or the host when
// this process is in a container, stays too, and is reported. It may be
// repeated at any moment. Lines that cannot be read are part of the error and
// are set aside; those of a newer format stay, and nothing is removed. Locks of
// other processes are waited for, for at most 20 s.
func (c Cleaner) Clean(ctx context.Context, report func(Removed)) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever made
	}
	if err := checkOurs(dir); err != nil {
		return fmt.Errorf("clean: %w", err)
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
	if err == nil {
		err = book.newer()
	}
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	errs := book.corrupt()
	gone := map[Entry]bool{}
	entries := removable(held(book.entries))
	errs = append(errs, c.thaw(dir, me, entries))
	for _, e := range entries {
		lives, err := e.Owner.lives(dir, me)
		if err == nil && lives && (e.Owner.same(me) || !c.Force) {
			continue
		}
		if left := e.Owner.beyond(me); err == nil && left != "" {
			report(Removed{Kind: e.Kind, Name: e.Name, Run: e.Owner.Run, Left: left})
			continue
		}
		if err == nil {
			err = c.remove(ctx, dir, me.Boot, e)
		}
		if err != nil {
			err = fmt.Errorf("clean %s %q: %w", e.Kind, e.Name, err)
			errs = append(errs, err)
		} else {
			gone[e] = true
		}
		report(Removed{Kind: e.Kind, Name: e.Name, Run: e.Owner.Run, Err: err})
	}
	if err := compact(dir, gone); err != nil {
		errs = append(errs, fmt.Errorf("clean: %w", err))
	}
	return errors.Join(errs...)
}

// Dead lists what belongs to dead owners that this process can see: what Clean would remove.
func (c Cleaner) Dead() ([]Entry, error) {
	me, err := self("")
	if err != nil {
		return nil, err
	}
	book, err := readLocked(c.Dir)
	if err == nil {
		err = book.newer()
	}
	if err != nil {
		return nil, err
	}
	var dead []Entry
	for _, e := range held(book.entries) {
		lives, err := e.Owner.lives(c.Dir, me)
		if err != nil {
			return nil, err
		}
		if !lives && e.Owner.beyond(me) == "" {
			dead = append(dead, e)
		}
	}
	return dead, nil
}

// thaw thaws the control groups that dead owners have left: what v1 has frozen does not die, and
// whatever is asked to end it waits.
func (c Cleaner) thaw(dir string, me Owner, entries []Entry) error {
	var errs []error
	for _, e := range entries {
		if e.Kind != bench.KindCgroup || e.Owner.Boot != me.Boot || e.Owner.beyond(me) != "" {
			continue
		}
		lives, err := e.Owner.lives(dir, me)
		if err != nil || lives && (e.Owner.same(me) || !c.Force) {
			continue // why it is not known is said at its removal
		}
		errs = append(errs, cgroup.Thaw(e.Name))
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
	if err == nil {
		err = book.newer() // written meanwhile: the whole file stays
	}
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
	return errors.Join(f.Sync(), f.Close(), syncDir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Package ledger remembers what was made on the host, so that a run killed at
// any moment can be cleaned up by the next. It implements [bench.Ledger].
//
// The ledger is an append-only file of JSON lines in the state directory. A
// thing is entered before it is made and again once it is gone. Every entry
// names its owner, the process that made it; [Clean] removes what belongs to
// owners that are dead.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// The files of a ledger in its state directory.
const (
	fileName    = "ledger.jsonl"
	lockName    = "ledger.lock"    // held while the file is read or written
	cleanName   = "clean.lock"     // held while things are removed
	corruptName = "ledger.corrupt" // lines set aside because they could not be read
)

// Ledger is one process's hand on the ledger of a state directory. It may be
// used from several goroutines and beside other processes.
type Ledger struct {
	dir   string
	owner Owner
}

// Open returns the ledger of the state directory for this process, which makes
// things for the run. It creates the directory if need be.
func Open(stateDir, runID string) (*Ledger, error) {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open ledger: %w%w", err, bench.Hint("tare needs root to keep its state in "+dir))
	}
	owner, err := self(runID)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Ledger{dir: dir, owner: owner}, nil
}

// Register records, durably, that the thing is about to be made. It refuses
// what [Clean] would refuse to remove: an unknown kind, a path outside the
// state directory and [bench.RuntimeDir].
func (l *Ledger) Register(kind, name string) error {
	if err := checkThing(l.dir, kind, name); err != nil {
		return fmt.Errorf("register %s %q: %w", kind, name, err)
	}
	if err := l.append(Entry{Op: opRegister, Kind: kind, Name: name, Owner: l.owner}, true); err != nil {
		return fmt.Errorf("register %s %q: %w", kind, name, err)
	}
	return nil
}

// Release records that the thing is gone. It is not forced to disk: an entry
// too many costs the next cleaning a look, no more.
func (l *Ledger) Release(kind, name string) error {
	if err := l.append(Entry{Op: opRelease, Kind: kind, Name: name, Owner: l.owner}, false); err != nil {
		return fmt.Errorf("release %s %q: %w", kind, name, err)
	}
	return nil
}

// Held lists what is registered and not released, by any process, in the order
// of registration.
func (l *Ledger) Held() ([]Entry, error) {
	unlock, err := lock(l.dir, lockName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	book, err := readBook(l.dir)
	if err != nil {
		return nil, err
	}
	return held(book.entries), errors.Join(book.corrupt()...)
}

// append adds one line. A torn last line, left by a crash or a full disk, is
// cut off first: what it announced was never made.
func (l *Ledger) append(e Entry, durable bool) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	unlock, err := lock(l.dir, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := os.OpenFile(filepath.Join(l.dir, fileName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := wholeLines(f)
	if err != nil {
		return err
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.WriteAt(line, end); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	if durable {
		return f.Sync()
	}
	return nil
}

// wholeLines returns the length of the file up to its last newline.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	buf := make([]byte, 4096)
	for err == nil && end > 0 {
		chunk := buf[:min(end, int64(len(buf)))]
		if _, err = f.ReadAt(chunk, end-int64(len(chunk))); err != nil {
			break
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			return end - int64(len(chunk)) + int64(i) + 1, nil
		}
		end -= int64(len(chunk))
	}
	return 0, err
}

// lock takes the lock file in dir and returns what gives it back. The kernel
// drops the lock of a process that dies.
func lock(dir, name string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock ledger: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock ledger: %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

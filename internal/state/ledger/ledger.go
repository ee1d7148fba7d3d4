// Package ledger remembers what was made on the host, so that a run killed at
// any moment can be cleaned up by the next. It implements [bench.Ledger].
//
// The ledger is an append-only file of JSON lines in the state directory. A
// thing is entered before it is made and again once it is gone. Every entry
// names its owner, the process that made it, which has a lock as long as it
// lives; [Clean] removes what belongs to owners that are dead.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/state"
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
// things for the run. It creates the directory if need be, see [state.Make].
func Open(stateDir, runID string) (*Ledger, error) {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if _, err := state.Make(dir); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	owner, err := self(runID)
	if err == nil {
		owner.Lock, err = holdLife(dir) // before anything is entered
	}
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
	if err := l.append(Entry{Format: Format, Op: opRegister, Kind: kind, Name: name, Owner: l.owner}, true); err != nil {
		return fmt.Errorf("register %s %q: %w", kind, name, err)
	}
	return nil
}

// Release records that the thing is gone. That is not forced to disk: an entry
// too many costs the next cleaning a look, no more. That what lay on a disk is
// gone is: after a loss of power it would be back, and known to nobody.
func (l *Ledger) Release(kind, name string) error {
	if err := settle(kind, name); err != nil {
		return fmt.Errorf("release %s %q: %w", kind, name, err)
	}
	if err := l.append(Entry{Format: Format, Op: opRelease, Kind: kind, Name: name, Owner: l.owner}, false); err != nil {
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
	if err := book.newer(); err != nil {
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
	if !durable {
		return nil
	}
	if err := f.Sync(); err != nil || end > 0 {
		return err
	}
	return syncDir(l.dir) // the file is new
}

// settle makes durable that a thing is gone.
func settle(kind, name string) error {
	if kind != bench.KindDir && kind != bench.KindSwap {
		return nil // no other thing outlives a loss of power
	}
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if err := syncDir(dir); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
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

// lockDeadline is how long to wait for a lock of the ledger's. They are held for
// moments, or while another process cleans.
const lockDeadline = tool.Deadline

// lock takes the lock file in dir and returns what gives it back. The kernel
// drops the lock of a process that dies. One that is not to be had in time is an
// error that names its holder.
func lock(dir, name string) (unlock func(), err error) {
	return lockWithin(filepath.Join(dir, name), lockDeadline)
}

func lockWithin(path string, limit time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock ledger: %w", err)
	}
	wait := time.Millisecond
	for deadline := time.Now().Add(limit); ; time.Sleep(wait) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EINTR) && (!errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline)) {
			break
		}
		wait = min(2*wait, 20*time.Millisecond)
	}
	defer f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock ledger: %s: %w: held by %s%w", path, tool.Late(limit), holderOf(f),
			bench.Hint("wait until it has ended; what it waits for is in /proc/PID/stack"))
	}
	return nil, fmt.Errorf("lock ledger: %s: %w%w", path, err, noLocks)
}

// holderOf names the process that has locked the file, as far as it can be seen.
func holderOf(f *os.File) string {
	var st unix.Stat_t
	text, err := os.ReadFile("/proc/locks")
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	if err == nil {
		for _, pid := range lockers(string(text), st.Ino) {
			open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			mine := func(fd string) bool {
				var other unix.Stat_t
				return unix.Stat(fd, &other) == nil && other.Dev == st.Dev && other.Ino == st.Ino
			}
			if slices.ContainsFunc(open, mine) {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(name)))
			}
		}
	}
	return "a process that cannot be seen from here"
}

// lockers lists the processes that hold a lock of a file with the inode, by the
// lines of /proc/locks (proc_locks(5)); those that wait for one have "->" in theirs.
func lockers(locks string, inode uint64) (pids []int) {
	for line := range strings.Lines(locks) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], fmt.Sprintf(":%d", inode)) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

package platformtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// nobody is a user of the host who owns nothing.
const nobody = 65534

// testClosed: while an instance runs, no other user of the host gets at the run's directories, nor at any
// socket that the platform's programs listen at.
func testClosed(t *testing.T, s *suite, _ *box) {
	runtimeDir := filepath.Join(bench.RuntimeDir, s.env.Run)
	var inside []string
	for _, dir := range []string{s.state, s.env.Dir, runtimeDir} {
		entries, err := os.ReadDir(dir)
		if err != nil && (s.testnet != nil || dir != runtimeDir) {
			t.Fatal(err)
		}
		for _, e := range entries {
			inside = append(inside, filepath.Join(dir, e.Name()))
		}
	}
	sockets, err := s.sockets()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(runtimeDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSocket {
			return nil // it ended meanwhile, or is none
		}
		// The directory above should not be all that stands in the way.
		if info, err := d.Info(); err == nil && info.Mode()&0o002 != 0 {
			t.Errorf("%s may be called by all: %v", path, info.Mode())
		}
		sockets = append(sockets, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = asNobody(func() error {
		var errs []error
		for _, path := range inside {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrPermission) {
				errs = append(errs, fmt.Errorf("%s can be reached: %v", path, err))
			}
		}
		for _, path := range sockets {
			conn, err := net.Dial("unix", path)
			if err == nil {
				errs = append(errs, fmt.Errorf("%s can be called", path))
				conn.Close()
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Errorf("as user %d of the host: %v", nobody, err)
	}
}

// sockets are those in the test network's network namespace, and in the host's those of the run, that are bound to a path.
func (s *suite) sockets() ([]string, error) {
	list := func() (paths []string, err error) {
		table, err := os.ReadFile("/proc/thread-self/net/unix")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(table)) {
			if f := strings.Fields(line); len(f) == 8 && strings.HasPrefix(f[7], "/") {
				paths = append(paths, f[7])
			}
		}
		return paths, nil
	}
	host, err := list()
	if err != nil || s.testnet == nil {
		return nil, err
	}
	var ours []string
	for _, path := range host {
		if strings.Contains(path, s.env.Run) || strings.HasPrefix(path, s.state) {
			ours = append(ours, path)
		}
	}
	err = s.testnet.Do(func() error {
		there, err := list()
		ours = append(ours, there...)
		return err
	})
	return ours, err
}

// asNobody runs f on a thread that opens files as another user of the host does: with that user's and group's
// ids, which take the capabilities over files along (setfsuid(2), capabilities(7)), and no further groups.
func asNobody(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
			done <- fmt.Errorf("give up groups: %w", errno)
			return
		}
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, nobody, 0, 0) // they return the id before, whatever happens
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, nobody, 0, 0)
		if id, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, nobody, 0, 0); id != nobody {
			done <- fmt.Errorf("files are opened as user %d", id)
			return
		}
		done <- f()
	}()
	return <-done
}

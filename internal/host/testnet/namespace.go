package testnet

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Inside runs f on a thread that is in the network namespace bound at path.
func Inside(path string, f func() error) error {
	target, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("enter network namespace %s: %w", path, err)
	}
	defer target.Close()
	return onThread(func() error {
		if err := netns.Set(target); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", path, err)
		}
		return f()
	})
}

// onThread runs f, which may change the network namespace, on a separate thread and then changes
// back. If that fails, the goroutine ends with its thread locked and the runtime discards the
// thread.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// /proc/net and /proc/self show the first thread's namespace to everyone. So keep it in
			// its namespace and let another thread do the work.
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		home, err := netns.Get()
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("own network namespace: %w", err)
			return
		}
		defer home.Close()
		defer func() {
			if netns.Set(home) == nil {
				runtime.UnlockOSThread()
			}
		}()
		done <- f()
	}()
	return <-done
}

// bind makes a network namespace and binds it to the path, which keeps it alive.
func (l *Network) bind(path string) error {
	if err := l.ledger.Register(bench.KindNetNS, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	f.Close()
	return onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind network namespace to %s: %w", path, err)
		}
		return nil
	})
}

// unbind unmounts the namespace from the path. It returns nil if nothing is mounted.
func (l *Network) unbind(path string) error {
	err := unix.Unmount(path, unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return l.ledger.Release(bench.KindNetNS, path)
}

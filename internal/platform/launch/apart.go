package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Apart runs f on a thread of its own, inside the network namespace at path
// netns and in a new mount namespace that follows the host's mounts and gives
// none back. A process that f starts is born in both; what f mounts vanishes
// with the last such process.
func Apart(netns string, f func() error) error {
	ns, err := os.Open(netns)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer ns.Close()
	done := make(chan error, 1)
	go onOwnThread(func() { done <- enter(int(ns.Fd()), f) })
	return <-done
}

// Within runs f on a thread of its own in the mount namespace of the process.
func Within(pid int, f func() error) error {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		return fmt.Errorf("open mount namespace: %w", err)
	}
	defer ns.Close()
	done := make(chan error, 1)
	go onOwnThread(func() {
		err := unix.Unshare(unix.CLONE_FS) // as setns(2) wants it
		if err == nil {
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS)
		}
		if err != nil {
			done <- fmt.Errorf("enter mount namespace of process %d: %w", pid, err)
			return
		}
		done <- f()
	})
	return <-done
}

// onOwnThread runs f on a thread that ends with it. It passes over the
// process's first thread, whose namespaces are what /proc/self shows everyone.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return // still locked: the thread is not used again
	}
	done := make(chan struct{})
	go onOwnThread(func() { f(); close(done) })
	<-done
	runtime.UnlockOSThread()
}

func enter(netns int, f func() error) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("new mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keep mounts from the host: %w", err)
	}
	if err := coverBridgeFilter(); err != nil {
		return err
	}
	if err := unix.Setns(netns, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return f()
}

// Provide makes a directory of the host that is to be hidden, one of [bench.Places], if it is
// not there, and then has undo remove it. That must be after the last use of [Hide] has ended.
func Provide(undo *Undo, l bench.Ledger, dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	remove := func(context.Context) error {
		if err := os.Remove(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil // by now somebody else may use it
	}
	if err := undo.Register(l, bench.KindPlace, dir, remove); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// Hide covers the directory with an empty one. For use inside [Apart].
func Hide(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tare", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("hide %s: %w", dir, err)
	}
	return nil
}

// Show hides base, of which dir is a part, but for dir itself: whoever may search that reaches it, though the
// directories on the way are closed on the host. For use inside [Apart].
func Show(base, dir string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("clone mount %s: %w", dir, err)
	}
	defer unix.Close(tree)
	if err := Hide(base); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("show %s: %w", dir, err)
	}
	return nil
}

// CoverControllers lets programs see no controllers in the v2 hierarchy of a
// host where v1 does the limiting, mode "hybrid" of package cgroup. The ones
// that v1 has left there, such as hugetlb, keep crun from starting. For use inside
// [Apart].
func CoverControllers(mode string) error {
	const list = "/sys/fs/cgroup/unified/cgroup.controllers"
	if mode != "hybrid" {
		return nil
	}
	err := unix.Mount("/dev/null", list, "", unix.MS_BIND, "")
	if err != nil && !errors.Is(err, unix.ENOENT) { // the v2 hierarchy is mounted elsewhere
		return fmt.Errorf("cover %s: %w", list, err)
	}
	return nil
}

// FreshSysfs mounts a sysfs on /sys that shows the devices of the thread's
// network namespace, and puts back what was mounted below the old one. For use
// inside [Apart].
func FreshSysfs() error {
	const sys = "/sys"
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	type kept struct {
		at   string
		tree int
	}
	var keep []kept
	defer func() {
		for _, k := range keep {
			unix.Close(k.tree)
		}
	}()
	for _, at := range outermost(mountsBelow(string(table), sys)) {
		tree, err := unix.OpenTree(unix.AT_FDCWD, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("clone mount %s: %w", at, err)
		}
		keep = append(keep, kept{at, tree})
	}
	if err := unix.Mount("sysfs", sys, "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	for _, k := range keep {
		if err := unix.MoveMount(k.tree, "", unix.AT_FDCWD, k.at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("put back mount %s: %w", k.at, err)
		}
	}
	return nil
}

// mountsBelow returns the mount points strictly below dir, in the order of the
// table, which is in the format of proc_pid_mountinfo(5).
func mountsBelow(table, dir string) []string {
	var points []string
	for _, line := range strings.Split(table, "\n") {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			points = append(points, unescape(f[4]))
		}
	}
	return points
}

// outermost drops repeats and what lies below another of the points.
func outermost(points []string) []string {
	var top []string
	for _, p := range points {
		covered := false
		for _, t := range points {
			covered = covered || strings.HasPrefix(p, t+"/")
		}
		for _, t := range top {
			covered = covered || p == t
		}
		if !covered {
			top = append(top, p)
		}
	}
	return top
}

// unescape undoes the octal escapes of blanks and backslashes in mount tables.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

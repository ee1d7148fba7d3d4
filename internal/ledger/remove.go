package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/cgroup"
)

// remove makes the thing be gone; it is no error if it already is. What an
// earlier boot knew only in memory is gone with it.
func remove(ctx context.Context, stateDir, boot string, e Entry) error {
	if err := checkThing(stateDir, e.Kind, e.Name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	earlier := e.Owner.Boot != boot
	switch e.Kind {
	case bench.KindProcess:
		if earlier {
			return nil
		}
		return killMarked(ctx, e.Name)
	case bench.KindCgroup:
		if earlier {
			return nil
		}
		return cgroup.Remove(ctx, e.Name)
	case bench.KindMount:
		if earlier {
			return nil
		}
		return unmount(e.Name)
	case bench.KindLoop:
		if earlier {
			return nil
		}
		return detachLoops(e.Name)
	case bench.KindTap:
		if earlier {
			return nil
		}
		return deleteLink(e.Name)
	case bench.KindDomain:
		if earlier {
			return nil
		}
		return destroyDomain(ctx, e.Name)
	case bench.KindMapped:
		if earlier {
			return nil
		}
		return removeMapped(ctx, e.Name)
	case bench.KindSetting:
		if earlier {
			return nil
		}
		return putBack(e.Name)
	case bench.KindNote:
		if err := os.Remove(e.Name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case bench.KindSwap:
		return removeSwap(stateDir, e.Name)
	case bench.KindNetNS:
		return removeNetNS(e.Name)
	case bench.KindDir:
		return removeDir(stateDir, e.Name)
	}
	return errors.New("unknown kind")
}

// unmount takes off every mount at the path. A busy one is detached, to vanish
// with its last user.
func unmount(path string) error {
	for range 64 { // mounts may be stacked
		err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(path, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		}
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not a mount, or no longer there
			return nil
		}
		if err != nil {
			return fmt.Errorf("unmount: %w", err)
		}
	}
	return errors.New("unmount: mounts keep coming back")
}

// removeNetNS drops the bind that keeps a network namespace. Its devices go
// with it, once no process is inside.
func removeNetNS(path string) error {
	if err := unmount(path); err != nil {
		return err
	}
	err := unix.Unlink(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// detachLoops frees the loop devices whose backing file is the path.
func detachLoops(path string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
			continue // freed meanwhile
		}
		if err != nil {
			return err
		}
		backing := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), " (deleted)")
		if backing != path {
			continue
		}
		dev := "/dev/" + strings.Split(f, "/")[3]
		fd, err := unix.Open(dev, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", dev, err)
		}
		err = unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0)
		unix.Close(fd)
		if err != nil && !errors.Is(err, unix.ENXIO) {
			return fmt.Errorf("detach %s: %w", dev, err)
		}
	}
	return nil
}

// deleteLink removes a network device of the host's own namespace.
func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find device: %w", err)
	}
	return netlink.LinkDel(link)
}

// removeDir deletes a directory tree of ours. It follows no symbolic link on
// the way and refuses a tree with a mount in it.
func removeDir(stateDir, path string) error {
	base, rel, ok := beneath(stateDir, path)
	if !ok {
		return fmt.Errorf("outside %s and %s", stateDir, bench.RuntimeDir)
	}
	root, err := os.OpenRoot(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for at, rest := "", rel; rest != ""; {
		var step string
		step, rest, _ = strings.Cut(rest, "/")
		at = filepath.Join(at, step)
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", filepath.Join(base, at))
		}
	}
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return err
	}
	mounts, err := mountsUnder(filepath.Join(real, rel))
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("mounted inside: %s: %w", strings.Join(mounts, ", "),
			bench.Hint("unmount it, then clean again: umount "+mounts[0]))
	}
	return root.RemoveAll(rel)
}

// mountsUnder lists the mount points at the path and below it.
func mountsUnder(path string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return nil, fmt.Errorf("/proc/self/mountinfo: %q is not a mount", line)
		}
		at := octal.Replace(fields[4])
		if at == path || strings.HasPrefix(at, path+"/") {
			found = append(found, at)
		}
	}
	return found, nil
}

// octal undoes mountinfo's escapes: proc_pid_mountinfo(5).
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

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
	"tare/internal/host/cgroup"
	"tare/internal/host/kube"
	"tare/internal/host/ssh"
	"tare/internal/host/tree"
)

// remove makes the thing be gone; it is not an error if it already is. What an
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
		return unmount(stateDir, e.Name)
	case bench.KindLoop:
		if earlier {
			return nil
		}
		return detachLoops(stateDir, e.Name)
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
		return putBack(stateDir, e.Name)
	case bench.KindNote:
		for _, name := range []string{e.Name, e.Name + ".tmp"} { // CRIU writes the second and then renames it
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	case bench.KindPlace:
		if earlier {
			return nil
		}
		return removePlace(e.Name)
	case bench.KindPod: // of an earlier boot too: the API server remembers it
		return kube.RemoveThing(ctx, e.Name, (*kube.Cluster).Remove)
	case bench.KindJob: // likewise
		return kube.RemoveThing(ctx, e.Name, (*kube.Cluster).RemoveJob)
	case bench.KindRemote: // of an earlier boot too: it lies on another host
		return ssh.RemoveThing(ctx, e.Name)
	case bench.KindSwap:
		return removeSwap(stateDir, e.Name)
	case bench.KindNetNS:
		return removeNetNS(stateDir, e.Name)
	case bench.KindDir:
		return removeDir(stateDir, e.Name)
	}
	return errors.New("unknown kind")
}

// unmount takes off every mount at the path. A busy one is detached, to vanish
// with its last user.
func unmount(stateDir, path string) error {
	p, err := placeOf(stateDir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	return p.unmount()
}

func (p *place) unmount() error {
	for range 64 { // mounts may be stacked
		err := unix.Unmount(p.path(), unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(p.path(), unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
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

// removePlace removes the directory if it is still empty; else somebody else uses it by now.
func removePlace(path string) error {
	err := unix.Rmdir(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// removeNetNS drops the bind that keeps a network namespace. Its devices go
// with it, once no process is inside.
func removeNetNS(stateDir, path string) error {
	p, err := placeOf(stateDir, path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.unmount(); err != nil {
		return err
	}
	return p.unlink()
}

// detachLoops frees the loop devices whose backing file is the path, which the
// kernel tells without links. The file may be gone.
func detachLoops(stateDir, path string) error {
	p, err := placeOf(stateDir, path)
	switch {
	case err == nil:
		path, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", p.dir.Fd()))
		path = filepath.Join(path, p.name)
		p.close()
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
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
	p, err := placeOf(stateDir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	var st unix.Stat_t
	err = unix.Fstatat(int(p.dir.Fd()), p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return err
	}
	return tree.RemoveAt(p.dir, p.name)
}

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// The ids of a box with a user namespace of its own: user 0 inside is FirstID outside, and so on.
// They are those that systemd-nspawn and others pick from, above what
// distributions give to users (https://systemd.io/UIDS-GIDS).
const (
	FirstID = 0x80000
	IDs     = 65536
)

// MapIDs shows the image, at its own place, as if the owner of each file were
// FirstID higher, by mount_setattr(2) with MOUNT_ATTR_IDMAP, and gives the
// instance's own directories, with what is in them, to its root. For use inside [Apart].
func MapIDs(image string, own ...string) error {
	ns, err := userNamespace()
	if err != nil {
		return fmt.Errorf("user namespace of ids from %d: %w", FirstID, err)
	}
	defer ns.Close()
	if err := idmapMount(image, int(ns.Fd())); err != nil {
		return fmt.Errorf("map ids of %s: %w%w", image, err,
			bench.Hint("the file system and the kernel (5.12) must know idmapped mounts"))
	}
	for _, dir := range own {
		if err := GiveAway(dir); err != nil {
			return err
		}
	}
	return nil
}

func idmapMount(dir string, ns int) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns)}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, attr); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// userNamespace returns a user namespace with the mapping. A process is needed
// to make one: it waits for the end of its input.
func userNamespace() (*os.File, error) {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: FirstID, Size: IDs}}
	cmd := exec.Command("cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	hold.Close()
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	return ns, err
}

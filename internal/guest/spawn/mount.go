package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The directories within Spec.Dir.
func (s Spec) upper() string  { return filepath.Join(s.Dir, "upper") } // what is written
func (s Spec) work() string   { return filepath.Join(s.Dir, "work") }  // overlayfs's own
func (s Spec) inside() string { return filepath.Join(s.Dir, "root") }  // the instance's root

// mount assembles the root: the image under a writable layer, with scratch
// space, devices and kernel file systems. See the kernel's
// Documentation/filesystems/overlayfs.rst.
func (s Spec) mount() error {
	// Changes on the host reach the instance, none of the instance's reach the host.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("spawn: detach mounts from the host's: %w", err)
	}
	for _, d := range []string{s.upper(), s.work(), s.inside()} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return fmt.Errorf("spawn: %w", err)
		}
	}
	layers := "lowerdir=" + s.Root + ",upperdir=" + s.upper() + ",workdir=" + s.work()
	if err := unix.Mount("overlay", s.inside(), "overlay", 0, layers); err != nil {
		return fmt.Errorf("spawn: mount overlay (%s): %w", layers, err)
	}
	for _, d := range []string{s.Scratch.To, "/proc", "/sys", "/dev"} {
		if err := os.MkdirAll(s.inside()+d, 0o755); err != nil {
			return fmt.Errorf("spawn: %w", err)
		}
	}
	if err := unix.Mount(s.Scratch.From, s.inside()+s.Scratch.To, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("spawn: bind scratch space %s: %w", s.Scratch.From, err)
	}
	if err := s.mountKernel(); err != nil {
		return err
	}
	return s.bindAgent()
}

// mountKernel mounts the kernel's file systems and makes the devices.
func (s Spec) mountKernel() error {
	const safe = unix.MS_NOSUID | unix.MS_NOEXEC
	for _, m := range []struct {
		kind, dir, data string
		flags           uintptr
	}{
		{"proc", "/proc", "", safe | unix.MS_NODEV},
		{"sysfs", "/sys", "", safe | unix.MS_NODEV},
		{"tmpfs", "/dev", "mode=755", safe},
		{"devpts", "/dev/pts", "newinstance,ptmxmode=666,mode=620,gid=5", safe},
		{"tmpfs", "/dev/shm", "mode=1777", safe | unix.MS_NODEV},
	} {
		if err := os.MkdirAll(s.inside()+m.dir, 0o755); err != nil {
			return fmt.Errorf("spawn: %w", err)
		}
		if err := unix.Mount(m.kind, s.inside()+m.dir, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("spawn: mount %s on %s: %w", m.kind, m.dir, err)
		}
	}
	dev := s.inside() + "/dev/"
	unix.Umask(0)
	defer unix.Umask(0o022)
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		if err := unix.Mknod(dev+name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return fmt.Errorf("spawn: make device %s: %w", name, err)
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, dev+name); err != nil {
			return fmt.Errorf("spawn: %w", err)
		}
	}
	return nil
}

// bindAgent makes the agent's binary appear at AgentPath, read-only.
func (s Spec) bindAgent() error {
	at := s.inside() + AgentPath
	f, err := os.OpenFile(at, os.O_CREATE|os.O_RDONLY, 0o755)
	if err != nil {
		return fmt.Errorf("spawn: %w", err)
	}
	f.Close()
	if err := unix.Mount(s.Agent, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("spawn: bind agent %s: %w", s.Agent, err)
	}
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("spawn: make the agent read-only: %w", err)
	}
	return nil
}

// changeRoot makes the instance the root and lets go of the host's.
func (s Spec) changeRoot() error {
	err := unix.Chdir(s.inside())
	if err == nil {
		// Both on one spot, the old root on top of the new: pivot_root(2), NOTES.
		err = unix.PivotRoot(".", ".")
	}
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("spawn: change root to %s: %w (not possible from an initial RAM file system or a plain chroot)", s.inside(), err)
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err != nil {
		return fmt.Errorf("spawn: change root to %s: %w", s.inside(), err)
	}
	return nil
}

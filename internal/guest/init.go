// Package guest is the first process of a virtual machine that boots from Tare's initial RAM file
// system: it finds the disks and the network and makes the golden image its root. Then it serves as
// the agent on a virtio serial port, or executes the image's init system with the agent as the last
// service.
package guest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

const (
	newRoot = "/newroot"
	// deviceWait bounds how long a device may take to appear after its driver
	// was loaded. Under emulation on a busy host that is long.
	deviceWait = 30 * time.Second
)

// Init runs the guest from its first process to its power-off, and does not return. It prints
// errors on the console. began is when the process ran its first instruction.
func Init(began int64) {
	// The host takes this line as proof that a program runs in the guest.
	fmt.Printf("tare-agent %s: first process of the guest\n", agent.AgentVersion)
	if err := run(began); err != nil {
		fmt.Printf("tare-agent: %v\n", err)
	}
	unix.Sync()
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err == nil {
		err = unix.Reboot(ending(string(cmdline)))
	}
	fmt.Printf("tare-agent: end the machine: %v\n", err)
	select {} // the kernel would panic if its first process ended
}

// ending returns the reboot(2) command that ends the machine. The default is power-off.
// tare.end=restart is for machines that cannot power off and whose monitor exits on a restart.
func ending(cmdline string) int {
	if slices.Contains(strings.Fields(cmdline), "tare.end=restart") {
		return unix.LINUX_REBOOT_CMD_RESTART
	}
	return unix.LINUX_REBOOT_CMD_POWER_OFF
}

func run(began int64) error {
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		if err := mount(m.kind, m.kind, m.at, 0, ""); err != nil {
			return err
		}
	}
	if err := loadModules("/modules.list"); err != nil {
		return err
	}
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	network, err := parseNetwork(string(cmdline))
	if err != nil {
		return err
	}
	devices, err := parseDevices(string(cmdline))
	if err != nil {
		return err
	}
	if devices.bus != "" {
		if err := loadModules("/modules-" + devices.bus + ".list"); err != nil {
			return fmt.Errorf("the kernel's drivers for the bus %s: %w", devices.bus, err)
		}
	}
	if devices.nic != "" {
		if err := loadModules("/modules-" + devices.nic + ".list"); err != nil {
			return fmt.Errorf("the kernel's driver of the network card %s: %w", devices.nic, err)
		}
	}
	if slices.Contains(strings.Fields(string(cmdline)), "tare.balloon=yes") {
		if err := loadModules("/modules-balloon.list"); err != nil {
			return fmt.Errorf("the kernel's driver of the balloon: %w", err)
		}
	}
	if err := enterImage(devices); err != nil {
		return err
	}
	if network != nil {
		if err := network.configure(); err != nil {
			return err
		}
	}
	if devices.init == "systemd" {
		return handOver()
	}
	port, err := openPort(devices.port)
	if err != nil {
		return err
	}
	defer port.Close()
	if err := agent.Serve(context.Background(), port, port, agent.Options{OwnKernel: true, Dedicated: true, Began: began}); err != nil {
		return err
	}
	return unmount()
}

// loadModules loads the modules named in the list, in its order. One that is
// built in or loaded already is not an error.
func loadModules(list string) error {
	f, err := os.Open(list)
	if err != nil {
		return fmt.Errorf("load modules: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		path := strings.TrimSpace(lines.Text())
		if path == "" {
			continue
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("load module %s: %w", path, err)
		}
		err = unix.FinitModule(fd, "", 0)
		unix.Close(fd)
		if err == unix.ENOEXEC {
			return fmt.Errorf("load module %s: %w: it was built for another kernel than this one", path, err)
		}
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("load module %s: %w", path, err)
		}
	}
	return nil
}

// enterImage makes the root's disk the root file system and mounts the scratch
// disk, if one is named, in it.
func enterImage(d devices) error {
	if err := mountRoot(d); err != nil {
		return err
	}
	if d.scratch != "" {
		if err := await(d.scratch); err != nil {
			return err
		}
		if err := mount(d.scratch, "ext4", filepath.Join(newRoot, bench.ScratchDir), 0, ""); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		kind, at string
		flags    uintptr
		data     string
	}{
		{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"devtmpfs", "/dev", unix.MS_NOSUID, ""},
		{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "ptmxmode=0666"},
		{"tmpfs", "/dev/shm", unix.MS_NOSUID | unix.MS_NODEV, ""},
		{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755"},
		{"tmpfs", "/tmp", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"cgroup2", "/sys/fs/cgroup", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	} {
		if err := mount(m.kind, m.kind, newRoot+m.at, m.flags, m.data); err != nil {
			return err
		}
	}
	// What udev would link, and programs expect.
	for _, l := range []struct{ name, to string }{
		{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
	} {
		if err := os.Symlink(l.to, newRoot+"/dev/"+l.name); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("link /dev/%s: %w", l.name, err)
		}
	}
	if d.init != "" {
		if err := keepAgent(); err != nil {
			return err
		}
	}
	if err := os.Chdir(newRoot); err != nil {
		return fmt.Errorf("enter the image: %w", err)
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("make the image the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("make the image the root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("enter the image: %w", err)
	}
	return unix.Sethostname([]byte("guest"))
}

// unmount makes sure that what programs wrote is on the disks.
func unmount() error {
	unix.Sync()
	if err := unix.Mount("", bench.ScratchDir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil && err != unix.EINVAL {
		return fmt.Errorf("remount %s read-only: %w", bench.ScratchDir, err)
	}
	return nil
}

func mount(source, kind, at string, flags uintptr, data string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	if err := unix.Mount(source, at, kind, flags, data); err != nil && err != unix.EBUSY {
		return fmt.Errorf("mount %s (%s) on %s: %w", source, kind, at, err)
	}
	return nil
}

// await waits for a file to appear.
func await(path string) error {
	for end := time.Now().Add(deviceWait); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has not appeared in %v", path, deviceWait)
		}
	}
}

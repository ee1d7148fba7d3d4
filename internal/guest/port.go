package guest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/guest/agent"
	"tare/internal/guest/serial"
	"tare/internal/platform/xen/xenpipe"
)

// portName is the name of the port the host talks to.
const portName = "tare"

// portXen in place of a serial line says that ports are pipes to Xen's control domain.
const portXen = "xen"

// openPort opens the stream to the host: that over the serial line, if one is
// named, or else the virtio serial port once the host has its end open.
func openPort(line string) (io.ReadWriteCloser, error) {
	switch line {
	case "":
		return openVirtio(portName)
	case portXen:
		return xenpipe.Offer(portName)
	}
	f, err := os.OpenFile(line, os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		_, err = agent.MakeRaw(f)
	}
	if err == nil {
		err = silence(filepath.Base(line))
	}
	if err != nil {
		return nil, fmt.Errorf("open the serial line to the host: %w", err)
	}
	return struct {
		io.ReadWriter
		io.Closer
	}{serial.NewGuest(f), f}, nil
}

// silence keeps all kernel messages except those of its end off a line that is also its console.
// From here on the agent owns the line.
func silence(line string) error {
	consoles, err := os.ReadFile("/sys/class/tty/console/active")
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(consoles)), line) {
		return nil
	}
	return os.WriteFile("/proc/sys/kernel/printk", []byte("1"), 0)
}

// OpenPort opens the port of that name to the host, as programs of the guest's do
// that are not its first process.
func OpenPort(name string) (io.ReadWriteCloser, error) {
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, fmt.Errorf("open the port %s to the host: %w", name, err)
	}
	devices, err := parseDevices(string(cmdline))
	if err != nil {
		return nil, err
	}
	if devices.port == portXen {
		return xenpipe.Offer(name)
	}
	return openVirtio(name)
}

// openVirtio opens the virtio serial port of that name once the host has its end open.
func openVirtio(name string) (*os.File, error) {
	device, err := findPort(name)
	if err != nil {
		return nil, err
	}
	port, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the port %s to the host: %w", name, err)
	}
	return port, awaitHost(port, time.Now().Add(deviceWait))
}

// findPort waits for the virtio serial port of that name and returns its device.
func findPort(name string) (device string, err error) {
	for end := time.Now().Add(deviceWait); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return "", err
		}
		for _, file := range names {
			if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == name {
				return "/dev/" + filepath.Base(filepath.Dir(file)), nil
			}
		}
	}
	return "", fmt.Errorf("no virtio port named %q in %v", name, deviceWait)
}

// awaitHost waits until the host has opened its end. Before that, a read would return the end of
// the stream.
func awaitHost(port *os.File, end time.Time) error {
	raw, err := port.SyscallConn()
	if err != nil {
		return err
	}
	for time.Now().Before(end) {
		var events int16
		err := raw.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if _, err := unix.Poll(fds, 0); err == nil {
				events = fds[0].Revents
			}
		})
		if err != nil {
			return err
		}
		if events&unix.POLLHUP == 0 {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("the host has not opened the port in %v", deviceWait)
}

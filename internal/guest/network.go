package guest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// network is what the kernel command line says of the guest's network.
type network struct {
	addr    netip.Prefix
	gateway netip.Addr
}

// parseNetwork reads tare.ip=ADDRESS/BITS and tare.gw=ADDRESS; without the
// first there is no network.
func parseNetwork(cmdline string) (*network, error) {
	var n network
	var err error
	for _, word := range strings.Fields(cmdline) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "tare.ip":
			if n.addr, err = netip.ParsePrefix(value); err == nil && !n.addr.Addr().Is4() {
				err = fmt.Errorf("not an IPv4 address")
			}
		case "tare.gw":
			if n.gateway, err = netip.ParseAddr(value); err == nil && !n.gateway.Is4() {
				err = fmt.Errorf("not an IPv4 address")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("kernel command line: %q: %w", word, err)
		}
	}
	if !n.addr.IsValid() {
		return nil, nil
	}
	return &n, nil
}

// configure gives the first device that is not lo the address, and the default
// route (netdevice(7)).
func (n *network) configure() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("configure the network: %w", err)
	}
	defer unix.Close(fd)
	if err := up(fd, "lo"); err != nil {
		return err
	}
	device, err := Device()
	if err != nil {
		return err
	}
	for _, set := range []struct {
		what    string
		request uint
		ip      [4]byte
	}{
		{"address", unix.SIOCSIFADDR, n.addr.Addr().As4()},
		{"netmask", unix.SIOCSIFNETMASK, [4]byte(net.CIDRMask(n.addr.Bits(), 32))},
	} {
		ifr, err := unix.NewIfreq(device)
		if err != nil {
			return fmt.Errorf("network device %s: %w", device, err)
		}
		if err := ifr.SetInet4Addr(set.ip[:]); err != nil {
			return fmt.Errorf("network device %s: %w", device, err)
		}
		if err := unix.IoctlIfreq(fd, set.request, ifr); err != nil {
			return fmt.Errorf("set the %s of %s: %w", set.what, device, err)
		}
	}
	if err := up(fd, device); err != nil {
		return err
	}
	if !n.gateway.IsValid() {
		return nil
	}
	return defaultRoute(fd, n.gateway)
}

// Device waits for a network device besides lo and returns the first.
func Device() (string, error) {
	for end := time.Now().Add(deviceWait); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		entries, err := os.ReadDir("/sys/class/net")
		if err != nil {
			return "", fmt.Errorf("list network devices: %w", err)
		}
		for _, e := range entries {
			if e.Name() != "lo" {
				return e.Name(), nil
			}
		}
	}
	return "", fmt.Errorf("no network device in %v", deviceWait)
}

func up(fd int, device string) error {
	ifr, err := unix.NewIfreq(device)
	if err != nil {
		return fmt.Errorf("network device %s: %w", device, err)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	return nil
}

// rtentry is struct rtentry of linux/route.h on 64-bit machines.
type rtentry struct {
	_                     uint64
	dst, gateway, genmask unix.RawSockaddrInet4
	flags                 uint16
	_                     int16
	_                     uint64
	_                     uint64
	_                     int16
	_                     uint64 // device
	_, _                  uint64
	_                     uint16
}

func defaultRoute(fd int, gateway netip.Addr) error {
	inet := unix.RawSockaddrInet4{Family: unix.AF_INET}
	r := rtentry{dst: inet, gateway: inet, genmask: inet, flags: unix.RTF_UP | unix.RTF_GATEWAY}
	r.gateway.Addr = gateway.As4()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCADDRT, uintptr(unsafe.Pointer(&r))); errno != 0 {
		return fmt.Errorf("set the default route to %s: %w", gateway, errno)
	}
	return nil
}

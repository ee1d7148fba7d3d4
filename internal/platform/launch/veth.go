package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// deviceName names the host end of a launch's wire: a device's name has at most 15 bytes.
func deviceName(prefix, id string) string {
	sum := sha256.Sum256([]byte(id))
	return prefix + hex.EncodeToString(sum[:5])
}

// plugIn moves the calling thread, which is in the lab's network namespace,
// into a new one with a device eth0 under the lease, whose other end is name on the lab's
// bridge. The namespace and the wire end with the last process born there. For
// use inside [Apart].
func plugIn(name, bridge string, lease bench.Lease) error {
	fail := func(err error) error { return fmt.Errorf("plug %s into %s: %w", name, bridge, err) }
	mac, err := net.ParseMAC(lease.MAC)
	if err != nil {
		return fail(err)
	}
	lab, err := netlink.NewHandle()
	if err != nil {
		return fail(err)
	}
	defer lab.Close()
	on, err := lab.LinkByName(bridge)
	if err != nil {
		return fail(err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fail(fmt.Errorf("new network namespace: %w", err))
	}
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fail(err)
	}
	defer here.Close()
	// The wire is made in the lab and handed here: a device that moves is set down.
	err = lab.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name, MasterIndex: on.Attrs().Index, Flags: net.FlagUp},
		PeerName:  "eth0", PeerHardwareAddr: mac, PeerNamespace: netlink.NsFd(int(here.Fd())),
	})
	if err == nil {
		err = configure(lease)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// configure gives eth0 the lease's address and the default route, and switches it and the
// loopback on, in the thread's network namespace.
func configure(lease bench.Lease) error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name == "eth0" {
			ip := &net.IPNet{IP: lease.Addr.Addr().AsSlice(), Mask: net.CIDRMask(lease.Addr.Bits(), lease.Addr.Addr().BitLen())}
			if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ip}); err != nil {
				return fmt.Errorf("address %s: %w", lease.Addr, err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("switch on %s: %w", name, err)
		}
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: lease.Gateway.AsSlice()}); err != nil {
		return fmt.Errorf("default route to %s: %w", lease.Gateway, err)
	}
	return nil
}

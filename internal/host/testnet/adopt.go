package testnet

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// adopted is the name of an adopted device in the test network. It is the wire to the other
// machines.
const adopted = wire + "0"

// Adopt moves the device, with its address and the default route through it, from the caller's
// network namespace into the test network. A test network inside a virtual machine does so with the
// machine's only device. Outgoing packets get the device's address as source, as with published
// containers. Adopt returns that address.
func (l *Network) Adopt(ctx context.Context, device string) (netip.Addr, error) {
	fail := func(err error) (netip.Addr, error) {
		return netip.Addr{}, fmt.Errorf("move %s into the test network: %w", device, err)
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fail(err)
	}
	addrs, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fail(err)
	}
	if len(addrs) == 0 {
		return fail(fmt.Errorf("it has no address"))
	}
	via, err := gatewayOf(link)
	if err != nil {
		return fail(err)
	}
	inside, err := netns.GetFromPath(l.NetNS())
	if err != nil {
		return fail(err)
	}
	defer inside.Close()
	if err := netlink.LinkSetNsFd(link, int(inside)); err != nil {
		return fail(err)
	}
	err = l.Do(func() error {
		moved, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetName(moved, adopted); err != nil {
			return err
		}
		if err := address(adopted, *addrs[0].IPNet); err != nil {
			return err
		}
		if err := up(adopted); err != nil {
			return err
		}
		if via == nil {
			return nil
		}
		if err := netlink.RouteAdd(&netlink.Route{Gw: via}); err != nil {
			return fmt.Errorf("add default route: %w", err)
		}
		return nil
	})
	if err == nil {
		err = l.iptables(ctx, []string{"-t", "nat", "-A", "POSTROUTING", "-o", adopted, "-j", "MASQUERADE"})
	}
	if err != nil {
		return fail(err)
	}
	addr, _ := netip.AddrFromSlice(addrs[0].IP.To4())
	return addr, nil
}

// gatewayOf returns the gateway of the default route through the device, nil if there is none.
func gatewayOf(link netlink.Link) (net.IP, error) {
	routes, err := netlink.RouteList(link, netlink.FAMILY_V4)
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		if r.Gw != nil && (r.Dst == nil || r.Dst.IP.IsUnspecified()) {
			return r.Gw, nil
		}
	}
	return nil, nil
}

// Publish forwards packets for the adopted device's address, on any port, to the instance at the
// address to.
func (l *Network) Publish(ctx context.Context, to netip.Addr) error {
	if to == l.network.Addr() {
		return nil // the test network's own namespace has the device
	}
	if err := l.iptables(ctx, []string{"-t", "nat", "-A", "PREROUTING", "-i", adopted, "-j", "DNAT", "--to-destination", to.String()}); err != nil {
		return fmt.Errorf("publish %s: %w", to, err)
	}
	return nil
}

package testnet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"tare/internal/bench"
)

// inside is the instance's end of its cable.
const inside = "eth0"

// Plug makes a network namespace for an instance, which joins it by its path. eth0 inside has a
// lease. Its other end is on the bridge. The namespace lasts until [Network.Unplug].
func (l *Network) Plug(ctx context.Context) (bench.Port, error) {
	if err := ctx.Err(); err != nil {
		return bench.Port{}, fmt.Errorf("plug in: %w", err)
	}
	lease, err := l.Allocate()
	if err != nil {
		return bench.Port{}, fmt.Errorf("plug in: %w", err)
	}
	ip := lease.Addr.Addr().As4()
	device := fmt.Sprintf("port%d.%d", ip[2], ip[3])
	p := bench.Port{NetNS: filepath.Join(l.dir, device), Device: device, Lease: lease}
	if err := l.plug(p); err != nil {
		return bench.Port{}, errors.Join(fmt.Errorf("plug in %s: %w", device, err), l.Unplug(p))
	}
	return p, nil
}

func (l *Network) plug(p bench.Port) error {
	if err := l.bind(p.NetNS); err != nil {
		return err
	}
	there, err := netns.GetFromPath(p.NetNS)
	if err != nil {
		return err
	}
	defer there.Close()
	err = l.Do(func() error {
		bridge, err := netlink.LinkByName(bridgeName)
		if err != nil {
			return err
		}
		veth := &netlink.Veth{
			LinkAttrs:        netlink.LinkAttrs{Name: p.Device, MasterIndex: bridge.Attrs().Index},
			PeerName:         inside,
			PeerHardwareAddr: hardwareAddr(p.Lease.Addr.Addr()),
			PeerNamespace:    netlink.NsFd(int(there)),
		}
		if err := netlink.LinkAdd(veth); err != nil {
			return fmt.Errorf("add cable: %w", err)
		}
		return up(p.Device)
	})
	if err != nil {
		return err
	}
	return Inside(p.NetNS, func() error {
		if err := up("lo"); err != nil {
			return err
		}
		if err := address(inside, ipNet(p.Lease.Addr)); err != nil {
			return err
		}
		if err := up(inside); err != nil {
			return err
		}
		if err := netlink.RouteAdd(&netlink.Route{Gw: p.Lease.Gateway.AsSlice()}); err != nil {
			return fmt.Errorf("add default route: %w", err)
		}
		return nil
	})
}

// Unplug removes the cable and the namespace's path, and releases the address. The namespace itself
// ends with its last process.
func (l *Network) Unplug(p bench.Port) error {
	err := l.Do(func() error { return removeLink(p.Device) })
	if err = errors.Join(err, l.unbind(p.NetNS)); err != nil {
		return fmt.Errorf("unplug %s: %w", p.Device, err)
	}
	l.Release(p.Lease)
	return nil
}

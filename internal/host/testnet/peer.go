package testnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// wire is the name of the peer's end of the wire. The test network's ends are wire0, wire1, ...
const wire = "wire"

// peer is a namespace that stands for another machine.
type peer struct {
	path string
	addr netip.Addr
}

// Peer returns the network namespace and address of the peer of that name, [a-z0-9-]+. It makes the
// peer if needed. The peer is like another machine: a wire to the test network is its only link to
// the instances.
func (l *Network) Peer(ctx context.Context, name string) (path string, addr netip.Addr, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.peers[name]; ok {
		return p.path, p.addr, nil
	}
	path = filepath.Join(l.dir, name)
	switch {
	case !runName.MatchString(name) || path == l.NetNS():
		return "", netip.Addr{}, fmt.Errorf("make peer: bad name %q", name)
	case len(l.peers) > 255:
		return "", netip.Addr{}, fmt.Errorf("make peer %s: there are %d already", name, len(l.peers))
	case ctx.Err() != nil:
		return "", netip.Addr{}, fmt.Errorf("make peer %s: %w", name, ctx.Err())
	}
	n := byte(len(l.peers))
	if err := l.addPeer(path, n); err != nil {
		return "", netip.Addr{}, errors.Join(fmt.Errorf("make peer %s: %w", name, err),
			l.Do(func() error { return removeLink(wireName(n)) }), l.unbind(path))
	}
	addr = netip.AddrFrom4([4]byte{10, 232, n, 2})
	l.peers[name] = peer{path, addr}
	return path, addr, nil
}

// peerSettings are what the machine of a load generator is commonly given: with the kernel's defaults
// a client that opens a connection for each request runs out of ports within some launches.
var peerSettings = map[string]string{
	"ip_local_port_range": "1024 65535",
	"tcp_tw_reuse":        "1", // of connections that were closed more than a second ago
}

func wireName(n byte) string { return wire + strconv.Itoa(int(n)) }

func (l *Network) addPeer(path string, n byte) error {
	if err := l.bind(path); err != nil {
		return err
	}
	there, err := netns.GetFromPath(path)
	if err != nil {
		return err
	}
	defer there.Close()
	here, end := wireNet(n, 1), wireNet(n, 2)
	err = l.Do(func() error {
		veth := &netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: wireName(n)},
			PeerName:      wire,
			PeerNamespace: netlink.NsFd(int(there)),
		}
		if err := netlink.LinkAdd(veth); err != nil {
			return fmt.Errorf("add wire: %w", err)
		}
		if err := address(wireName(n), here); err != nil {
			return err
		}
		return up(wireName(n))
	})
	if err != nil {
		return err
	}
	return Inside(path, func() error {
		for name, value := range peerSettings {
			if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0); err != nil {
				return err
			}
		}
		if err := up("lo"); err != nil {
			return err
		}
		if err := address(wire, end); err != nil {
			return err
		}
		if err := up(wire); err != nil {
			return err
		}
		if err := netlink.RouteAdd(&netlink.Route{Gw: here.IP}); err != nil {
			return fmt.Errorf("add default route: %w", err)
		}
		return nil
	})
}

func wireNet(n, host byte) net.IPNet {
	return net.IPNet{IP: net.IPv4(10, 232, n, host), Mask: net.CIDRMask(30, 32)}
}

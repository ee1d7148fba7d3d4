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
// the instances. All peers of a rate, in bit/s, share one wire that is shaped to it; with 0 each has
// one without a limit.
func (l *Network) Peer(ctx context.Context, name string, rate float64) (path string, addr netip.Addr, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := name
	if rate > 0 {
		known = fmt.Sprintf("%s-%.0f", name, rate)
	}
	if p, ok := l.peers[known]; ok {
		return p.path, p.addr, nil
	}
	path = filepath.Join(l.dir, known)
	switch {
	case !runName.MatchString(name) || path == l.NetNS():
		return "", netip.Addr{}, fmt.Errorf("make peer: bad name %q", name)
	case len(l.peers) > 250:
		return "", netip.Addr{}, fmt.Errorf("make peer %s: there are %d already", name, len(l.peers))
	case ctx.Err() != nil:
		return "", netip.Addr{}, fmt.Errorf("make peer %s: %w", name, ctx.Err())
	}
	n := byte(len(l.peers))
	fail := func(err error) (string, netip.Addr, error) {
		return "", netip.Addr{}, fmt.Errorf("make peer %s: %w", name, err)
	}
	to := ends{here: wireNet(n, 1), there: wireNet(n, 2)}
	var shared *shaped
	if rate > 0 {
		if shared, err = l.shape(rate); err != nil {
			return fail(err)
		}
		to = ends{here: shared.net(1), there: shared.net(shared.peers + 2), hub: shared.name("hub")}
	}
	if err := l.addPeer(path, n, to); err != nil {
		return fail(errors.Join(err, l.Do(func() error { return removeLink(wireName(n)) }), l.unbind(path)))
	}
	if shared != nil {
		shared.peers++
	}
	addr, _ = netip.AddrFromSlice(to.there.IP.To4())
	l.peers[known] = peer{path, addr}
	return path, addr, nil
}

// ends are the addresses of a wire: the test network's, and the peer's. Where several peers share the
// first, hub is the bridge that the wire leads to.
type ends struct {
	here, there net.IPNet
	hub         string
}

// peerSettings are what the machine of a load generator is commonly given: with the kernel's defaults
// a client that opens a connection for each request runs out of ports within some launches.
var peerSettings = map[string]string{
	"ip_local_port_range": "1024 65535",
	"tcp_tw_reuse":        "1", // of connections that were closed more than a second ago
}

func wireName(n byte) string { return wire + strconv.Itoa(int(n)) }

func (l *Network) addPeer(path string, n byte, to ends) error {
	if err := l.bind(path); err != nil {
		return err
	}
	there, err := netns.GetFromPath(path)
	if err != nil {
		return err
	}
	defer there.Close()
	err = l.Do(func() error {
		veth := &netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: wireName(n)},
			PeerName:      wire,
			PeerNamespace: netlink.NsFd(int(there)),
		}
		if to.hub != "" {
			hub, err := netlink.LinkByName(to.hub)
			if err != nil {
				return err
			}
			veth.MasterIndex = hub.Attrs().Index
		}
		if err := netlink.LinkAdd(veth); err != nil {
			return fmt.Errorf("add wire: %w", err)
		}
		if to.hub == "" {
			if err := address(wireName(n), to.here); err != nil {
				return err
			}
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
		if err := address(wire, to.there); err != nil {
			return err
		}
		if err := up(wire); err != nil {
			return err
		}
		if err := netlink.RouteAdd(&netlink.Route{Gw: to.here.IP}); err != nil {
			return fmt.Errorf("add default route: %w", err)
		}
		return nil
	})
}

func wireNet(n, host byte) net.IPNet {
	return net.IPNet{IP: net.IPv4(10, 232, n, host), Mask: net.CIDRMask(30, 32)}
}

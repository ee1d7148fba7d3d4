package testnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"tare/internal/bench"
)

// hostNetwork is the network of a host's bridge, with the bridge's own address.
var hostNetwork = netip.MustParsePrefix("10.231.0.1/16")

func ipNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// leases hands out the bridge network's addresses in turn, so that a released one is not reused
// while caches still hold it.
type leases struct {
	network netip.Prefix
	next    netip.Addr
	used    map[netip.Addr]bool
}

func newLeases(network netip.Prefix) leases {
	return leases{network: network, next: network.Addr().Next(), used: map[netip.Addr]bool{}}
}

// size returns the number of addresses to lease: all but those of the network, the bridge and
// broadcast.
func (ls *leases) size() int { return 1<<(32-ls.network.Bits()) - 3 }

func (ls *leases) take() (netip.Addr, error) {
	for range ls.size() {
		addr := ls.next
		ls.next = addr.Next()
		if !ls.network.Contains(ls.next.Next()) { // addr.Next() is the broadcast address
			ls.next = ls.network.Addr().Next()
		}
		if !ls.used[addr] {
			ls.used[addr] = true
			return addr, nil
		}
	}
	return netip.Addr{}, errors.New("every address is in use")
}

// Allocate reserves an address on the bridge for an instance, until [Network.Release].
func (l *Network) Allocate() (bench.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, err := l.leases.take()
	if err != nil {
		return bench.Lease{}, fmt.Errorf("allocate address on %s: %w", l.network, err)
	}
	return bench.Lease{
		Addr:    netip.PrefixFrom(addr, l.network.Bits()),
		Gateway: l.network.Addr(),
		MAC:     hardwareAddr(addr).String(),
	}, nil
}

// Release gives an address back.
func (l *Network) Release(lease bench.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leases.used, lease.Addr.Addr())
}

// hardwareAddr returns a locally administered MAC address made from the IP address. Each is unique
// in the test network.
func hardwareAddr(addr netip.Addr) net.HardwareAddr {
	ip := addr.As4()
	return net.HardwareAddr{0x02, 0x74, ip[0], ip[1], ip[2], ip[3]}
}

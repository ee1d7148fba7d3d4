package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"tare/internal/bench"
)

// The bridge's network, with the bridge's own address.
var (
	network = net.IPNet{IP: net.IPv4(10, 231, 0, 1), Mask: net.CIDRMask(16, 32)}
	prefix  = netip.MustParsePrefix("10.231.0.0/16")
	gateway = netip.MustParseAddr("10.231.0.1")
)

// leases hands out the bridge network's addresses in turn, so that one just
// given back is not used again while caches still remember it.
type leases struct {
	next netip.Addr
	used map[netip.Addr]bool
}

func newLeases() leases {
	return leases{next: gateway.Next(), used: map[netip.Addr]bool{}}
}

// size is how many addresses there are to lease: without those of the network,
// the bridge and broadcast.
const size = 1<<16 - 3

func (ls *leases) take() (netip.Addr, error) {
	for range size {
		addr := ls.next
		ls.next = addr.Next()
		if !prefix.Contains(ls.next.Next()) { // addr.Next() is the broadcast address
			ls.next = gateway.Next()
		}
		if !ls.used[addr] {
			ls.used[addr] = true
			return addr, nil
		}
	}
	return netip.Addr{}, errors.New("every address is in use")
}

// Allocate reserves an address on the bridge for an instance, until [Lab.Release].
func (l *Lab) Allocate() (bench.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, err := l.leases.take()
	if err != nil {
		return bench.Lease{}, fmt.Errorf("allocate address on %s: %w", prefix, err)
	}
	return bench.Lease{
		Addr:    netip.PrefixFrom(addr, prefix.Bits()),
		Gateway: gateway,
		MAC:     hardwareAddr(addr).String(),
	}, nil
}

// Release gives an address back.
func (l *Lab) Release(lease bench.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leases.used, lease.Addr.Addr())
}

// hardwareAddr is a locally administered MAC address made of the IP address,
// so that each is unique in the lab.
func hardwareAddr(addr netip.Addr) net.HardwareAddr {
	ip := addr.As4()
	return net.HardwareAddr{0x02, 0x74, ip[0], ip[1], ip[2], ip[3]}
}

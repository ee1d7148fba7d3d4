package testnet

import (
	"net/netip"
	"testing"

	"tare/internal/bench"
)

func TestLeasesAreUniqueUntilReleased(t *testing.T) {
	l := &Network{network: hostNetwork, leases: newLeases(hostNetwork)}
	gateway, size := hostNetwork.Addr(), l.leases.size()
	seen := map[netip.Addr]bool{}
	macs := map[string]bool{}
	var first bench.Lease
	for i := range size {
		lease, err := l.Allocate()
		if err != nil {
			t.Fatalf("lease %d of %d: %v", i, size, err)
		}
		addr := lease.Addr.Addr()
		if seen[addr] || macs[lease.MAC] || addr == gateway || !hostNetwork.Contains(addr) || lease.Gateway != gateway {
			t.Fatalf("lease %d: %+v", i, lease)
		}
		if addr == netip.MustParseAddr("10.231.0.0") || addr == netip.MustParseAddr("10.231.255.255") {
			t.Fatalf("lease %d is not a host address: %+v", i, lease)
		}
		seen[addr], macs[lease.MAC] = true, true
		if i == 0 {
			first = lease
		}
	}
	if _, err := l.Allocate(); err == nil {
		t.Error("leased more addresses than there are")
	}
	l.Release(first)
	again, err := l.Allocate()
	if err != nil || again != first {
		t.Errorf("after a release: %+v, %v; want %+v", again, err, first)
	}
}

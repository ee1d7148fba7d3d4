package testnet

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/host/ssh/sshtest"
)

// A further host reaches what shares the test network's namespace, at the address that was named. It
// reaches nothing on the bridge, and nothing there reaches it.
func TestAttach(t *testing.T) {
	lan := sshtest.New(t)
	host := lan.Add(t, "load1")
	there := fmt.Sprintf("/proc/%d/ns/net", host.PID)
	l := newNetwork(t)
	p := instance(t, l)
	at := netip.MustParsePrefix("10.77.0.101/24")
	for range 2 {
		must(t, Inside(lan.NetNS, func() error { return l.Attach(t.Context(), at) }))
	}
	if err := reach(there, l.NetNS(), at.Addr()); err != nil {
		t.Errorf("the further host does not reach the test network: %v", err)
	}
	lan.Route(t, host, "10.231.0.0/16", at.Addr().String())
	inside := p.Lease.Addr.Addr()
	if err := reach(there, p.NetNS, inside); err == nil {
		t.Error("the further host reaches an instance on the bridge")
	}
	if err := reach(p.NetNS, there, netip.MustParseAddr(host.Addr)); err == nil {
		t.Error("an instance on the bridge reaches the further host")
	}
	if err := reach(l.NetNS(), p.NetNS, inside); err != nil {
		t.Errorf("the test network does not reach its own instance: %v", err)
	}
	for text, want := range map[string][2]string{
		"10.77.0.1/24":    {"this host's own address", "free address"},
		host.Addr + "/24": {"the address is taken", "free address"},
		"10.99.0.5/24":    {"not on the network 10.99.0.0/24", "10.77.0.0/24"},
		"10.77.0.200/25":  {"not on the network", "10.77.0.0/24"},
		"192.0.2.1/24":    {"not a private address", "10.0.0.0/8"},
		"fe80::1/64":      {"not an address with a prefix length", "10.0.0.7/24"},
	} {
		var err error
		must(t, Inside(lan.NetNS, func() error { err = l.Attach(t.Context(), netip.MustParsePrefix(text)); return nil }))
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), want[0]) || !strings.Contains(bench.HintOf(err), want[1]) {
			t.Errorf("%s: %v, hint %q; want %q", text, err, bench.HintOf(err), want)
		}
	}
}

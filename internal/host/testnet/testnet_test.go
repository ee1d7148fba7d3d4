package testnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/state/ledger"
)

// newNetwork makes a test network for this test. When the test ends it checks that closing leaves
// nothing.
func newNetwork(t *testing.T) *Network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	state := t.TempDir()
	led, err := ledger.Open(state, "test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), "native-lab-"+strings.ToLower(t.Name()), led)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(l.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", l.dir, err)
		}
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		if strings.Contains(string(mounts), l.dir) {
			t.Errorf("a mount under %s is left behind", l.dir)
		}
		if left, err := led.Held(); err != nil || len(left) > 0 {
			t.Errorf("left in the ledger: %v, %v", left, err)
		}
	})
	return l
}

// instance plugs one in until the test ends.
func instance(t *testing.T, l *Network) bench.Port {
	t.Helper()
	p, err := l.Plug(t.Context())
	must(t, err)
	t.Cleanup(func() {
		must(t, l.Unplug(p))
		must(t, l.Do(func() error {
			if _, err := net.InterfaceByName(p.Device); err == nil {
				t.Errorf("the device %s is left behind", p.Device)
			}
			return nil
		}))
	})
	return p
}

// reach sends bytes over TCP from one namespace to an address in another.
func reach(from, to string, addr netip.Addr) error {
	var ln net.Listener
	err := Inside(to, func() (err error) {
		ln, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
		return err
	})
	if err != nil {
		return err
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	return Inside(from, func() error {
		d := net.Dialer{Timeout: 2 * time.Second}
		c, err := d.Dial("tcp4", ln.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
		return err
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryoneReachesEveryone(t *testing.T) {
	l := newNetwork(t)
	a, b := instance(t, l), instance(t, l)
	one, lease1 := a.NetNS, a.Lease
	two, lease2 := b.NetNS, b.Lease
	peer, addr, err := l.Peer(t.Context(), "peer", 0)
	must(t, err)
	other, otherAddr, err := l.Peer(t.Context(), "peer-2", 0)
	must(t, err)
	again, _, err := l.Peer(t.Context(), "peer", 0)
	must(t, err)
	if again != peer {
		t.Errorf("asked for again, peer is %s, want %s", again, peer)
	}
	must(t, Inside(peer, func() error {
		for name, want := range peerSettings {
			got, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
			if err != nil {
				return err
			}
			if strings.Join(strings.Fields(string(got)), " ") != want {
				t.Errorf("%s is %q on the peer, want %s", name, got, want)
			}
		}
		return nil
	}))
	for _, c := range []struct {
		what, from, to string
		addr           netip.Addr
	}{
		{"instance to instance", one, two, lease2.Addr.Addr()},
		{"instance to lab", one, l.NetNS(), lease1.Gateway},
		{"instance to peer", one, peer, addr},
		{"peer to instance", peer, one, lease1.Addr.Addr()},
		{"peer to lab", peer, l.NetNS(), hostNetwork.Addr()},
		{"lab to peer", l.NetNS(), peer, addr},
		{"lab to instance", l.NetNS(), two, lease2.Addr.Addr()},
		{"peer to peer", peer, other, otherAddr},
	} {
		if err := reach(c.from, c.to, c.addr); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// Peers of a rate share one wire of it: two together get no more than one, either way. The rate is far
// below what the devices can do, so that they are not the limit on any host.
func TestPeersShareAShapedWire(t *testing.T) {
	l := newNetwork(t)
	inside := instance(t, l)
	const rate, bytes = 80e6, 2 << 20 // for a peer; two take 0.4 s at the rate, and more than 0.3 s with the burst
	one, addr, err := l.Peer(t.Context(), "peer", rate)
	must(t, err)
	two, addr2, err := l.Peer(t.Context(), "peer-2", rate)
	must(t, err)
	free, freeAddr, err := l.Peer(t.Context(), "peer", 0)
	must(t, err)
	if again, _, err := l.Peer(t.Context(), "peer", rate); err != nil || again != one || one == two || one == free {
		t.Fatalf("asked for again, peer is %s (%v), want %s, beside %s and %s", again, err, one, two, free)
	}
	for _, c := range []struct {
		what string
		ways [][2]string // from, to
		addr []netip.Addr
		held bool
	}{
		{"out of the instance", [][2]string{{inside.NetNS, one}, {inside.NetNS, two}}, []netip.Addr{addr, addr2}, true},
		{"into the instance", [][2]string{{one, inside.NetNS}, {two, inside.NetNS}}, []netip.Addr{inside.Lease.Addr.Addr(), inside.Lease.Addr.Addr()}, true},
		{"out of the test network, where native is", [][2]string{{l.NetNS(), one}, {l.NetNS(), two}}, []netip.Addr{addr, addr2}, true},
		{"to a peer without a rate", [][2]string{{inside.NetNS, free}, {inside.NetNS, free}}, []netip.Addr{freeAddr, freeAddr}, false},
	} {
		began := time.Now()
		var group sync.WaitGroup
		errs := make([]error, len(c.ways))
		for i, way := range c.ways {
			group.Go(func() { errs[i] = send(way[0], way[1], c.addr[i], bytes) })
		}
		group.Wait()
		must(t, errors.Join(errs...))
		if took := time.Since(began); c.held && took < 300*time.Millisecond {
			t.Errorf("%s: 4 MiB took %v over a wire of 80 Mbit/s", c.what, took)
		}
	}
}

// send sends so many bytes over TCP from one namespace to an address in another.
func send(from, to string, addr netip.Addr, n int64) error {
	var ln net.Listener
	err := Inside(to, func() (err error) {
		ln, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
		return err
	})
	if err != nil {
		return err
	}
	defer ln.Close()
	got := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			_, err = io.CopyN(io.Discard, c, n)
			c.Close()
		}
		got <- err
	}()
	err = Inside(from, func() error {
		c, err := (&net.Dialer{Timeout: 2 * time.Second}).Dial("tcp4", ln.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(make([]byte, n))
		return err
	})
	if err != nil {
		return err
	}
	return <-got
}

// No namespace of the test network can reach the host's own network by any of the host's addresses.
func TestNoWayOut(t *testing.T) {
	l := newNetwork(t)
	inside := instance(t, l).NetNS
	peer, _, err := l.Peer(t.Context(), "peer", 0)
	must(t, err)
	addrs, err := net.InterfaceAddrs()
	must(t, err)
	tried := 0
	for _, a := range addrs {
		ip := a.(*net.IPNet).IP
		if ip.IsLoopback() || ip.To4() == nil {
			continue
		}
		tried++
		ln, err := net.Listen("tcp4", net.JoinHostPort(ip.String(), "0"))
		must(t, err)
		defer ln.Close()
		if c, err := net.DialTimeout("tcp4", ln.Addr().String(), time.Second); err != nil {
			t.Fatalf("the host does not reach itself: this test proves nothing: %v", err)
		} else {
			c.Close()
		}
		for what, from := range map[string]string{"an instance": inside, "a peer": peer, "the test network": l.NetNS()} {
			err := Inside(from, func() error {
				c, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp4", ln.Addr().String())
				if err == nil {
					c.Close()
				}
				return err
			})
			if err == nil {
				t.Errorf("%s reaches %s on the host", what, ln.Addr())
			}
		}
	}
	must(t, l.Do(func() error {
		routes, err := exec.Command("ip", "route", "show", "default").Output()
		if len(routes) > 0 {
			t.Errorf("the test network has a way out: %s", routes)
		}
		return err
	}))
	if tried == 0 {
		t.Log("the host has no address but its loopback's: only the test network's routes were checked")
	}
}

// The test does what dockerd does to the FORWARD chain: it sets the policy to DROP and puts its own
// chains at the head, also after Settle.
func TestSettle(t *testing.T) {
	if _, err := exec.LookPath("iptables"); err != nil {
		t.Skip(err)
	}
	l := newNetwork(t)
	a, b := instance(t, l), instance(t, l)
	one, lease := a.NetNS, a.Lease
	two, lease2 := b.NetNS, b.Lease
	peer, addr, err := l.Peer(t.Context(), "peer", 0)
	must(t, err)
	must(t, l.iptables(t.Context(), []string{"-P", "FORWARD", "DROP"}))
	if err := reach(one, peer, addr); err == nil {
		t.Fatal("the policy DROP stops nothing: this test proves nothing")
	}
	for range 2 {
		must(t, l.Settle(t.Context()))
	}
	must(t, l.iptables(t.Context(), []string{"-N", "DOCKER-USER"}))
	must(t, l.iptables(t.Context(), []string{"-A", "DOCKER-USER", "-j", "RETURN"}))
	must(t, l.iptables(t.Context(), []string{"-I", "FORWARD", "-j", "DOCKER-USER"}))
	var rules []byte
	must(t, l.Do(func() (err error) {
		rules, err = exec.Command("iptables", "-S", "FORWARD").Output()
		return err
	}))
	if n := strings.Count(string(rules), "ACCEPT"); n != 4 {
		t.Errorf("%d accept rules after settling twice, want 4:\n%s", n, rules)
	}
	if err := errors.Join(reach(one, peer, addr), reach(peer, one, lease.Addr.Addr()), reach(one, two, lease2.Addr.Addr())); err != nil {
		t.Error(err)
	}
	for _, rate := range []float64{0, 1e9} {
		late, lateAddr, err := l.Peer(t.Context(), "late", rate)
		must(t, err)
		if err := reach(one, late, lateAddr); err != nil {
			t.Errorf("a peer made after settling, with a wire of %g bit/s: %v", rate, err)
		}
	}
}

func TestTap(t *testing.T) {
	l := newNetwork(t)
	must(t, l.Tap("tap7"))
	must(t, l.Do(func() error {
		link, err := netlink.LinkByName("tap7")
		if err != nil {
			return err
		}
		bridge, err := netlink.LinkByName(l.Bridge())
		if err != nil {
			return err
		}
		if link.Attrs().MasterIndex != bridge.Attrs().Index {
			t.Errorf("tap7 is not on the bridge: %+v", link.Attrs())
		}
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		req, err := unix.NewIfreq("tap7")
		if err != nil {
			return err
		}
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}))
	if err := l.Tap("tap7"); err == nil {
		t.Error("a second tap of the same name was made")
	}
	if err := l.Tap("a-name-much-too-long"); err == nil {
		t.Error("a name of 20 bytes was accepted")
	}
	must(t, l.RemoveTap("tap7"))
	must(t, l.RemoveTap("tap7"))
}

// A process started inside Do is in the test network. The caller's own network is the same before
// and after, with many goroutines.
func TestDo(t *testing.T) {
	l := newNetwork(t)
	want, err := os.Readlink("/proc/self/ns/net")
	must(t, err)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			err := l.Do(func() error {
				out, err := exec.Command("cat", "/proc/net/dev").Output()
				if err == nil && !strings.Contains(string(out), bridgeName) {
					err = errors.New("started elsewhere: " + string(out))
				}
				if seen, _ := os.Readlink("/proc/self/ns/net"); seen != want {
					err = errors.Join(err, errors.New("the whole process seems to be in "+seen))
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			got, err := os.Readlink("/proc/thread-self/ns/net")
			if err != nil || got != want {
				t.Errorf("now in %s, want %s (%v)", got, want, err)
			}
		})
	}
	group.Wait()
	if err := l.Do(func() error { return os.ErrDeadlineExceeded }); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Do returns %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	led, err := ledger.Open(t.TempDir(), "test")
	must(t, err)
	for _, run := range []string{"", "../x", "A b"} {
		if _, err := New(t.Context(), run, led); err == nil {
			t.Errorf("run %q was accepted", run)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, "native-lab-cancelled", led); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, err := led.Held(); err != nil || len(left) > 0 {
		t.Errorf("left in the ledger: %v, %v", left, err)
	}
}

// Do returns an error, without a panic, if the namespace is gone.
func TestDoAfterClose(t *testing.T) {
	l := newNetwork(t)
	must(t, l.Close(t.Context()))
	if err := l.Do(func() error { return nil }); err == nil {
		t.Error("entered a closed test network")
	}
}

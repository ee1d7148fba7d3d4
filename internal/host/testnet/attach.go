package testnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"tare/internal/bench"
)

// attachedSettings keep what is not asked for off a device that further hosts reach the test network by:
// addresses that a router hands out, answers for other devices' addresses, and passing on.
var attachedSettings = []struct{ file, value string }{
	{"ipv6/conf/%s/disable_ipv6", "1"},
	{"ipv4/conf/%s/arp_ignore", "1"},
	{"ipv4/conf/%s/arp_announce", "2"},
	{"ipv4/conf/%s/forwarding", "0"},
}

// Attach gives the test network an address on a network of the host's, by a device of its own
// (macvlan) at the host's device there, which stays as it is. Whoever is on that network reaches what
// shares the test network's namespace. Nothing passes between it and the bridge. The device ends
// with the test network. Attach may be called again.
//
// An address that the host has, or that somebody answers for, is refused, and so is one of a network that
// the host is not on.
func (l *Network) Attach(ctx context.Context, at netip.Prefix) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.attached, at) {
		return nil
	}
	err := bench.CheckReach(at)
	if err == nil {
		err = l.attach(ctx, at, fmt.Sprintf("reach%d", len(l.attached)))
	}
	if err != nil {
		return fmt.Errorf("attach the test network at %v: %w", at, err)
	}
	l.attached = append(l.attached, at)
	return nil
}

func (l *Network) attach(ctx context.Context, at netip.Prefix, name string) error {
	parent, err := deviceOf(at)
	if err != nil {
		return err
	}
	if err := vacant(ctx, parent, at.Addr()); err != nil {
		return err
	}
	for _, way := range []string{"-i", "-o"} { // whatever anybody's filter says
		if err := l.iptables(ctx, []string{"-t", "mangle", "-A", "FORWARD", way, name, "-j", "DROP"}); err != nil {
			return err
		}
	}
	inside, err := netns.GetFromPath(l.NetNS())
	if err != nil {
		return err
	}
	defer inside.Close()
	device := &netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: name, ParentIndex: parent.Attrs().Index, Namespace: netlink.NsFd(int(inside))},
		Mode: netlink.MACVLAN_MODE_PRIVATE}
	if err := netlink.LinkAdd(device); err != nil {
		return fmt.Errorf("add a device at %s: %w: %w%w", parent.Attrs().Name, err, bench.ErrUnavailable, bench.Hint("the kernel must have macvlan, and the device must be a wired one or a bridge"))
	}
	return l.Do(func() error {
		for _, s := range attachedSettings {
			err := os.WriteFile("/proc/sys/net/"+fmt.Sprintf(s.file, name), []byte(s.value), 0)
			if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(s.file, "ipv6/") {
				continue // the kernel has none
			}
			if err != nil {
				return err
			}
		}
		if err := address(name, ipNet(at)); err != nil {
			return err
		}
		return up(name)
	})
}

// deviceOf is the host's device on the network of the address.
func deviceOf(at netip.Prefix) (netlink.Link, error) {
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("the addresses of this host: %w", err)
	}
	index := 0
	var others []string
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.IP.To4())
		bits, _ := a.Mask.Size()
		own := netip.PrefixFrom(ip, bits)
		switch {
		case ip == at.Addr():
			return nil, fmt.Errorf("it is this host's own address: %w%w", bench.ErrInvalid, bench.Hint("name a free address of that network: subjects get one of their own"))
		case own.Masked() != at.Masked():
			if ip.IsPrivate() {
				others = append(others, own.Masked().String())
			}
		case index != 0 && index != a.LinkIndex:
			return nil, fmt.Errorf("several devices of this host are on %v: %w", at.Masked(), bench.ErrInvalid)
		default:
			index = a.LinkIndex
		}
	}
	if index == 0 {
		hint := bench.Hint("this host is on no private network")
		if len(others) > 0 {
			hint = bench.Hint("it is on these: " + strings.Join(others, ", "))
		}
		return nil, fmt.Errorf("this host is not on the network %v: %w%w", at.Masked(), bench.ErrInvalid, hint)
	}
	return netlink.LinkByIndex(index)
}

// How long an answer for an address is waited for.
const (
	answerWithin = 1500 * time.Millisecond
	answerLook   = 20 * time.Millisecond
)

// vacant is an error if somebody on the device's network answers for the address. A datagram to its discard port
// makes the kernel ask.
func vacant(ctx context.Context, on netlink.Link, addr netip.Addr) error {
	conn, err := net.Dial("udp4", netip.AddrPortFrom(addr, 9).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = conn.Write([]byte{0}) // that nobody answers is what is hoped for
	for deadline := time.Now().Add(answerWithin); time.Now().Before(deadline); {
		neighbours, err := netlink.NeighList(on.Attrs().Index, netlink.FAMILY_V4)
		if err != nil {
			return err
		}
		for _, n := range neighbours {
			const known = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PERMANENT
			if ip, _ := netip.AddrFromSlice(n.IP.To4()); ip == addr && n.State&known != 0 {
				return fmt.Errorf("the address is taken: %v answers for it: %w%w", n.HardwareAddr, bench.ErrInvalid, bench.Hint("name a free address of that network"))
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(answerLook):
		}
	}
	return nil
}

// Addr is the bridge's own address, which whatever shares the test network's namespace has.
func (l *Network) Addr() netip.Addr { return l.network.Addr() }

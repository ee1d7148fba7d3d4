// Package lab makes a run's own network: a network namespace with a bridge, in
// which every platform's daemons, monitors and instances live, and further
// namespaces for peers, each joined to it by a wire. The host's own network is
// never touched.
//
//	                    lab namespace                         peer namespace
//	instances --- tarebr0 10.231.0.1/16 | wireN 10.232.N.1/30 --- wire 10.232.N.2/30
//
// The lab routes between the bridge and the wires without translation.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/vishvananda/netlink"

	"tare/internal/bench"
	"tare/internal/tree"
)

// bridgeName is the bridge inside the lab; it clashes with nothing, since the
// namespace holds nothing else at first.
const bridgeName = "tarebr0"

// Lab implements [bench.Lab].
type Lab struct {
	run     string
	dir     string // bench.RuntimeDir/RUN
	ledger  bench.Ledger
	network netip.Prefix // the bridge's, with the bridge's own address

	mu     sync.Mutex
	leases leases
	peers  map[string]peer
}

var runName = regexp.MustCompile(`^[a-z0-9-]+$`)

// New makes the lab of a run. When it fails it leaves nothing behind. It needs
// root; without it the error wraps [bench.ErrUnavailable].
func New(ctx context.Context, run string, led bench.Ledger) (*Lab, error) {
	return NewAt(ctx, run, led, hostNetwork)
}

// NewAt is New with another network on the bridge than 10.231.0.0/16: that of
// the bridge's own address and prefix length. A lab inside a guest of a lab
// needs one.
func NewAt(ctx context.Context, run string, led bench.Ledger, network netip.Prefix) (*Lab, error) {
	if !runName.MatchString(run) {
		return nil, fmt.Errorf("make lab: run %q is not [a-z0-9-]+", run)
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("make lab: network namespaces need root: %w%w", bench.ErrUnavailable, bench.Hint("run tare as root"))
	}
	l := &Lab{run: run, dir: filepath.Join(bench.RuntimeDir, run), ledger: led, network: network, leases: newLeases(network), peers: map[string]peer{}}
	if err := l.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make lab: %w", err), l.Close(context.WithoutCancel(ctx)))
	}
	return l, nil
}

func (l *Lab) build(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.ledger.Register(bench.KindDir, l.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(bench.RuntimeDir, 0o755); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(l.dir, 0o700), os.Chmod(l.dir, 0o700)); err != nil { // daemons have their sockets in it
		return err
	}
	if err := l.bind(l.NetNS()); err != nil {
		return err
	}
	return l.Do(func() error {
		if err := up("lo"); err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return fmt.Errorf("switch on forwarding: %w", err)
		}
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName, HardwareAddr: hardwareAddr(l.network.Addr())}}
		if err := netlink.LinkAdd(bridge); err != nil {
			return fmt.Errorf("add bridge: %w", err)
		}
		if err := address(bridgeName, ipNet(l.network)); err != nil {
			return err
		}
		return up(bridgeName)
	})
}

// NetNS is the path of the lab's network namespace.
func (l *Lab) NetNS() string { return filepath.Join(l.dir, "lab") }

// Bridge is the name of the bridge inside the lab.
func (l *Lab) Bridge() string { return bridgeName }

// Do runs f on a thread that is inside the lab's network namespace; a process
// f starts is born in it.
func (l *Lab) Do(f func() error) error { return Inside(l.NetNS(), f) }

// Tap creates a tap device on the bridge, for a VMM that opens it by name.
func (l *Lab) Tap(name string) error {
	err := l.Do(func() error {
		bridge, err := netlink.LinkByName(bridgeName)
		if err != nil {
			return err
		}
		if _, err := netlink.LinkByName(name); err == nil {
			return fs.ErrExist // TUNSETIFF would open the other's
		}
		tap := &netlink.Tuntap{
			LinkAttrs: netlink.LinkAttrs{Name: name, MasterIndex: bridge.Attrs().Index},
			Mode:      netlink.TUNTAP_MODE_TAP,
			Flags:     netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR,
		}
		if err := netlink.LinkAdd(tap); err != nil {
			return err
		}
		return up(name)
	})
	if err != nil {
		return fmt.Errorf("add tap %q: %w", name, err)
	}
	return nil
}

// RemoveTap deletes the device; it is no error if there is none.
func (l *Lab) RemoveTap(name string) error {
	err := l.Do(func() error { return removeLink(name) })
	if err != nil {
		return fmt.Errorf("remove tap %q: %w", name, err)
	}
	return nil
}

// Close removes the lab and its peers. Processes that are still inside keep
// their namespace until they end.
func (l *Lab) Close(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for name, p := range l.peers {
		if err := l.unbind(p.path); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(l.peers, name)
	}
	errs = append(errs, l.unbind(l.NetNS()))
	// What is gone is gone even if the ledger could not note it.
	errs = append(errs, tree.Remove(l.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close lab: %w", err)
	}
	return l.ledger.Release(bench.KindDir, l.dir)
}

// removeLink deletes a device of the current namespace; it is no error if there
// is none.
func removeLink(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

// up switches on a device of the current namespace.
func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("switch on %s: %w", name, err)
	}
	return nil
}

// address gives a device of the current namespace an address, "10.0.0.1/24".
func address(name string, ip net.IPNet) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.AddrAdd(link, &netlink.Addr{IPNet: &ip})
	}
	if err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, ip.String(), err)
	}
	return nil
}

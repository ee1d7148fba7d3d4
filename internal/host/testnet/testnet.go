// Package testnet makes a run's own network. It is a network namespace with a bridge, which holds
// every platform's daemons, monitors and instances. Each peer has a further namespace, joined to it
// by a wire. The host's own network is never touched.
//
//	                    test network namespace                         peer namespace
//	instances --- tarebr0 10.231.0.1/16 | wireN 10.232.N.1/30 --- wire 10.232.N.2/30
//
// The test network routes between the bridge and the wires without translation. Peers of a scene whose
// wire has a rate (bench.CondWire) share one that is shaped to it.
package testnet

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
	"tare/internal/host/tree"
)

// bridgeName is the name of the bridge inside the test network. It cannot clash, because the
// namespace is empty at first.
const bridgeName = "tarebr0"

// Network implements [bench.Testnet].
type Network struct {
	run     string
	dir     string // bench.RuntimeDir/RUN
	ledger  bench.Ledger
	network netip.Prefix // the bridge's address and prefix length

	mu       sync.Mutex
	leases   leases
	peers    map[string]peer
	attached []netip.Prefix
	shapes   map[float64]*shaped // by rate, in bit/s
}

var runName = regexp.MustCompile(`^[a-z0-9-]+$`)

// New makes the test network of a run. If it fails it leaves nothing behind. Without root the error
// wraps [bench.ErrUnavailable].
func New(ctx context.Context, run string, led bench.Ledger) (*Network, error) {
	return NewAt(ctx, run, led, hostNetwork)
}

// NewAt is New with another network on the bridge than 10.231.0.0/16. network is the bridge's own
// address and prefix length. A test network inside a guest of a test network needs another one.
func NewAt(ctx context.Context, run string, led bench.Ledger, network netip.Prefix) (*Network, error) {
	if !runName.MatchString(run) {
		return nil, fmt.Errorf("make test network: run %q is not [a-z0-9-]+", run)
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("make test network: network namespaces need root: %w%w", bench.ErrUnavailable, bench.Hint("run tare as root"))
	}
	l := &Network{run: run, dir: filepath.Join(bench.RuntimeDir, run), ledger: led, network: network, leases: newLeases(network), peers: map[string]peer{}, shapes: map[float64]*shaped{}}
	if err := l.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make test network: %w", err), l.Close(context.WithoutCancel(ctx)))
	}
	return l, nil
}

func (l *Network) build(ctx context.Context) error {
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

// NetNS returns the path of the test network's network namespace.
func (l *Network) NetNS() string { return filepath.Join(l.dir, "lab") }

// Bridge returns the name of the bridge inside the test network.
func (l *Network) Bridge() string { return bridgeName }

// Do runs f on a thread inside the test network's network namespace. Processes that f starts are in
// it too.
func (l *Network) Do(f func() error) error { return Inside(l.NetNS(), f) }

// Tap creates a tap device on the bridge, for a VMM that opens it by name.
func (l *Network) Tap(name string) error {
	err := l.Do(func() error {
		bridge, err := netlink.LinkByName(bridgeName)
		if err != nil {
			return err
		}
		if _, err := netlink.LinkByName(name); err == nil {
			return fs.ErrExist // TUNSETIFF would open the existing device
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

// RemoveTap deletes the device. It returns nil if there is none.
func (l *Network) RemoveTap(name string) error {
	err := l.Do(func() error { return removeLink(name) })
	if err != nil {
		return fmt.Errorf("remove tap %q: %w", name, err)
	}
	return nil
}

// Close removes the test network and its peers. Processes that are still inside keep
// their namespace until they end.
func (l *Network) Close(context.Context) error {
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
	// Remove the directory even if the ledger could not be written.
	errs = append(errs, tree.Remove(l.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close test network: %w", err)
	}
	return l.ledger.Release(bench.KindDir, l.dir)
}

// removeLink deletes a device of the current namespace. It returns nil if there is none.
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

// up enables a device of the current namespace.
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

package testnet

import (
	"fmt"
	"math"
	"net"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/bench"
)

// shaped is a wire that several peers share, as machines behind a switch do. The peers are on a bridge
// of their own, which a pair of devices joins to the test network; both of these send no faster than
// the rate.
//
//	test network 10.235.N.1/24 wireupN === wiredownN -- wirehubN (bridge) -- wireK -- wire 10.235.N.x/24 peer
//
// It is no wire: it has no latency of its own, nothing of a network card's work is done, and a frame is
// counted without the 24 bytes that Ethernet adds to it (preamble, checksum and gap).
type shaped struct {
	n     byte
	peers byte
}

// queued is how long a packet waits at most at a shaped wire's end, and burst how much of the rate may
// be sent at once after a pause. A wire of 1 Gbit/s with the 1000 packets that Linux queues for a
// device holds 12 ms.
const (
	queued = 10 * time.Millisecond
	burst  = time.Millisecond
	// leastBurst, in bytes, is some packets; the bucket takes larger ones that the kernel hands on as one apart.
	leastBurst = 16 << 10
)

func (s *shaped) name(part string) string { return fmt.Sprintf("%s%s%d", wire, part, s.n) }

// net is the network of the peers: host 1 is the test network's.
func (s *shaped) net(host byte) net.IPNet {
	return net.IPNet{IP: net.IPv4(10, 235, s.n, host), Mask: net.CIDRMask(24, 32)}
}

// shape returns the wire of the rate, in bit/s, and makes it if there is none.
func (l *Network) shape(rate float64) (*shaped, error) {
	if s, ok := l.shapes[rate]; ok {
		return s, nil
	}
	if len(l.shapes) > math.MaxUint8 {
		return nil, fmt.Errorf("there are wires of %d rates already", len(l.shapes))
	}
	s := &shaped{n: byte(len(l.shapes))}
	up, down, hub := s.name("up"), s.name("down"), s.name("hub")
	err := l.Do(func() error {
		err := s.make(up, down, hub, rate)
		if err == nil {
			return nil
		}
		for _, device := range []string{up, hub} { // the other end goes with the first
			if left := removeLink(device); left != nil {
				return fmt.Errorf("%w; %w", err, left)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("shaped wire of %.4g Mbit/s: %w", rate/1e6, err)
	}
	l.shapes[rate] = s
	return s, nil
}

func (s *shaped) make(upper, lower, hub string, rate float64) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: hub}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge: %w", err)
	}
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: upper}, PeerName: lower}); err != nil {
		return fmt.Errorf("add wire: %w", err)
	}
	for _, device := range []string{upper, lower} {
		if err := limit(device, rate); err != nil {
			return err
		}
	}
	end, err := netlink.LinkByName(lower)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMaster(end, bridge); err != nil {
		return fmt.Errorf("put %s on %s: %w", lower, hub, err)
	}
	if err := address(upper, s.net(1)); err != nil {
		return err
	}
	for _, device := range []string{hub, lower, upper} {
		if err := up(device); err != nil {
			return err
		}
	}
	return nil
}

// limit has a device send no faster than the rate, in bit/s, by a token bucket (tc-tbf(8)).
func limit(device string, rate float64) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	bytes := rate / 8
	size := max(leastBurst, bytes*burst.Seconds())
	err = netlink.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       uint64(bytes),
		Limit:      uint32(min(math.MaxUint32, size+bytes*queued.Seconds())),
		Buffer:     netlink.Xmittime(uint64(bytes), uint32(min(math.MaxUint32, size))),
	})
	if err != nil {
		return fmt.Errorf("limit what %s sends: %w%w", device, err, bench.Hint("the kernel's module sch_tbf does it: modprobe sch_tbf"))
	}
	return nil
}

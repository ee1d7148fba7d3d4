package main

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"tare/internal/host/clock"
)

// wire connects to an address, reads what comes until its end, and prints how many bytes that were
// and how many nanoseconds it took from the first of them. Package net is not used: the agent is small.
func wire(target string) error {
	to, err := netip.ParseAddrPort(target)
	if err != nil || !to.Addr().Is4() {
		return fmt.Errorf("wire: %q is not an IPv4 address with a port: %w", target, errUsage)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	defer unix.Close(fd)
	// It bounds the connection, too (socket(7)).
	limit := unix.Timeval{Sec: 5}
	for _, of := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, of, &limit); err != nil {
			return fmt.Errorf("wire: %w", err)
		}
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}); err != nil {
		return fmt.Errorf("wire: connect to %v: %w", to, err)
	}
	var sum, began int64
	buf := make([]byte, 256<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("wire: read from %v: %w", to, err)
		}
		if began == 0 {
			began = clock.Now()
		}
		if n == 0 {
			break
		}
		sum += int64(n)
	}
	fmt.Println(sum, clock.Now()-began)
	return nil
}

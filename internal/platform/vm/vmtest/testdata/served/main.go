// Served is the only process of a machine without an agent: an HTTP server. As the first process of a
// guest it loads the drivers that lie beside it, gives the network card its address and serves.
// Its arguments are name=value: address with prefix length, gateway, port, a fault, and a disk whose
// beginning it says and writes over.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func main() {
	words := map[string]string{}
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		words[name] = value
	}
	fmt.Printf("served: %q\n", os.Args[1:])
	if err := serve(words); err != nil {
		fmt.Println("served:", err)
		os.Exit(1) // the kernel panics: it has lost its first process
	}
}

func serve(words map[string]string) error {
	if err := drivers("/modules.list"); err != nil {
		return err
	}
	if err := connect(words["address"], words["gateway"]); err != nil {
		return err
	}
	if disk := words["disk"]; disk != "" {
		if err := overwrite(disk); err != nil {
			return err
		}
	}
	switch words["fault"] {
	case "deaf":
		select {}
	case "dies":
		time.AfterFunc(3*time.Second, func() { fmt.Println("served: no more"); os.Exit(7) })
	}
	l, err := net.Listen("tcp", ":"+words["port"])
	if err != nil {
		return err
	}
	fmt.Println("served: listening on", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "seven") }))
}

// drivers loads the modules that a list names, one a line, in its order.
func drivers(list string) error {
	f, err := os.Open(list)
	if errors.Is(err, os.ErrNotExist) {
		return nil // all are built in
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m, err := os.Open(lines.Text())
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(m.Fd()), "", 0)
		if m.Close(); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("load %s: %w", lines.Text(), err)
		}
	}
	return nil
}

// overwrite says how a disk of the guest begins, and writes over it. No other process does so than the
// first of a guest: the host's disks may have the same names.
func overwrite(disk string) error {
	if os.Getpid() != 1 {
		return errors.New("not the first process of a guest")
	}
	if err := os.MkdirAll("/dev", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("dev", "/dev", "devtmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	var f *os.File
	var err error
	for range 1000 { // until its driver has found it
		if f, err = os.OpenFile(disk, os.O_RDWR|os.O_SYNC, 0); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	fmt.Printf("served: disk begins with %q\n", head)
	_, err = f.WriteAt(make([]byte, len(head)), 0)
	return err
}

// connect gives the network card the address once it is there.
func connect(address, gateway string) error {
	addr, err := netlink.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	var card netlink.Link
	for end := time.Now().Add(10 * time.Second); card == nil; time.Sleep(time.Millisecond) {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Attrs().Name == "eth0" {
				card = l
			}
		}
		if time.Now().After(end) {
			return errors.New("no network card")
		}
	}
	via := net.ParseIP(gateway)
	return errors.Join(netlink.AddrAdd(card, addr), netlink.LinkSetUp(card), netlink.RouteAdd(&netlink.Route{LinkIndex: card.Attrs().Index, Gw: via}))
}

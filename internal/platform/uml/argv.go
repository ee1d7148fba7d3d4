package uml

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

// machine is everything the kernel's command line depends on.
type machine struct {
	launch       bench.Launch
	initrd, root string // files on the host
	tap          string
	lease        bench.Lease
}

func (m machine) file(name string) string { return filepath.Join(m.launch.Dir, name) }

// The instance's files and directories.
func (m machine) cow() string     { return m.file("root.cow") }
func (m machine) scratch() string { return m.file("scratch.raw") }
func (m machine) memory() string  { return m.file("memory") } // a mount of its own
func (m machine) nothing() string { return m.file("empty") }

// args are the kernel's command line, which is UML's own as well. The guest's
// console is the standard error; its first serial line, the agent's, is the standard input
// and output. A guest could mount directories of the host (hostfs) but for its being confined to an empty one.
func (m machine) args() []string {
	flags := ""
	if m.launch.Options[optCache] == "sync" {
		flags = "s"
	}
	guest := vm.Guest{
		Addr: m.lease.Addr, Gateway: m.lease.Gateway, Root: "/dev/ubda", Scratch: "/dev/ubdb", Port: "/dev/ttyS0",
	}
	args := []string{
		"mem=" + strconv.FormatInt(int64(m.launch.Shape.Memory/bench.KiB), 10) + "K",
		"initrd=" + m.initrd,
		"ubd0c=" + m.cow() + "," + m.root, // c locks neither file: a lock of the shared root kept QEMU from it
		"ubd1" + flags + "=" + m.scratch(),
		// gro makes room for packets larger than the link's, which the bridge passes on. Without
		// it a round trip of 16 KiB messages took 630 ms, with it 0.3.
		fmt.Sprintf("vec0:transport=tap,ifname=%s,mac=%s,gro=1", m.tap, m.lease.MAC),
		"con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1",
		"uml_dir=" + m.launch.Dir, "umid=machine", "hostfs=" + m.nothing(),
		"quiet", "panic=-1", "noreboot",
	}
	return append(args, strings.Fields(guest.Args())...)
}

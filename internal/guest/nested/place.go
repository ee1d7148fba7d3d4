package nested

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/guest/nested/wire"
)

// Where things lie in the outer guest. The scratch disk is its disk under
// test; the golden image and the tools are mounted before this program is started.
const (
	stateDir  = bench.ScratchDir + "/tare"
	runDir    = stateDir + "/run"
	launchDir = runDir + "/instance"
	agentPath = wire.Tools + "/tare-agent"
)

// networks are those an inner test network may have: of them, one that the outer guest is not in. The
// wires of a test network have 10.232.0.0/16 and 10.235.0.0/16.
var networks = []netip.Prefix{netip.MustParsePrefix("10.233.0.1/16"), netip.MustParsePrefix("10.234.0.1/16")}

// networkBeside is the first of them in which the device has no address.
func networkBeside(device string) (netip.Prefix, error) {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return netip.Prefix{}, err
	}
	taken, err := link.Addrs()
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("addresses of %s: %w", device, err)
	}
	for _, n := range networks {
		if !slices.ContainsFunc(taken, func(a net.Addr) bool {
			p, err := netip.ParsePrefix(a.String())
			return err == nil && n.Overlaps(p)
		}) {
			return n, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("the networks of inner labs are all taken: %w%w", bench.ErrInvalid, bench.Hint("a nesting can be three platforms deep"))
}

// golden is the golden image as the outer guest has it.
type golden struct{ digest string }

func (g golden) Digest() string                     { return g.digest }
func (golden) Root(context.Context) (string, error) { return wire.Golden, nil }

// Disk is the block device the image lies on.
func (golden) Disk(context.Context) (string, error) {
	table, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == wire.Golden {
			return f[0], nil
		}
	}
	return "", fmt.Errorf("the image is not mounted on %s: %w", wire.Golden, bench.ErrUnavailable)
}

func (golden) Kernel(context.Context) (kernel, modules string, err error) {
	found, err := filepath.Glob(wire.Tools + "/modules/*")
	if err != nil || len(found) != 1 {
		return "", "", fmt.Errorf("kernel of the image: %d directories of modules in %s: %w", len(found), wire.Tools, bench.ErrUnavailable)
	}
	return wire.Tools + "/vmlinuz", found[0], nil
}

// Tar is an archive with one empty directory. Docker would unpack a real one for
// minutes under emulation, to get at files that lie mounted already: see [bench.Nesting.Seat].
func (golden) Tar(context.Context) (string, error) {
	path := stateDir + "/empty.tar"
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	w := tar.NewWriter(f)
	err = w.WriteHeader(&tar.Header{Name: "scratch/", Typeflag: tar.TypeDir, Mode: 0o755})
	return path, errors.Join(err, w.Close(), f.Close())
}

// modules are those of every outer guest's kernel.
var modules = []string{"overlay", "bridge", "veth", "br_netfilter"}

// loadModules loads them and those that the platform needs. One that is missing shows in the
// platform's own check.
func loadModules(ctx context.Context, needed []string) {
	for _, m := range slices.Concat(modules, needed) {
		_ = run(ctx, "modprobe", "--quiet", m)
	}
}

// hugePage is the size of a huge page of this architecture's kernels.
const hugePage = 2 * bench.MiB

// configure sets the guest up as the platform's options ask of a host. It is
// this guest's alone, so nobody's settings are changed.
func configure(options map[string]string, memory bench.Bytes) error {
	set := map[string]string{}
	if options["ksm"] == "on" {
		set["/sys/kernel/mm/ksm/run"] = "1"
	}
	if options["pages"] == "huge" {
		set["/proc/sys/vm/nr_hugepages"] = strconv.FormatInt(int64((memory+hugePage-1)/hugePage), 10)
	}
	for file, value := range set {
		if err := os.WriteFile(file, []byte(value), 0); err != nil {
			return fmt.Errorf("set up the outer guest: %w: %w", bench.ErrUnavailable, err)
		}
	}
	return nil
}

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
	"tare/internal/nested/wire"
)

// Where things lie in the outer guest. The scratch disk is its disk under
// test; the golden image and the tools are mounted before this program is started.
const (
	stateDir  = bench.ScratchDir + "/tare"
	runDir    = stateDir + "/run"
	launchDir = runDir + "/instance"
	agentPath = wire.Tools + "/tare-agent"
)

// networks are those an inner lab may have: of them, one that the outer guest is not in.
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
	return "", fmt.Errorf("the golden image is not mounted on %s: %w", wire.Golden, bench.ErrUnavailable)
}

func (golden) Kernel(context.Context) (kernel, modules string, err error) {
	found, err := filepath.Glob(wire.Tools + "/modules/*")
	if err != nil || len(found) != 1 {
		return "", "", fmt.Errorf("kernel of the golden image: %d directories of modules in %s: %w", len(found), wire.Tools, bench.ErrUnavailable)
	}
	return wire.Tools + "/vmlinuz", found[0], nil
}

// Tar is an archive with one empty directory. Docker would unpack a real one for
// minutes under emulation, to get at files that lie mounted already: see seat.
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

// modules are the kernel's, by what needs them; the kernel itself loads those
// of file systems and firewall rules when they are used.
var modules = map[string][]string{
	"":        {"overlay", "bridge", "veth", "br_netfilter"},
	"kvm":     {"tun", "vhost_net", "kvm_amd", "kvm_intel"},
	"libvirt": {"tun", "vhost_net", "kvm_amd", "kvm_intel"},
	"uml":     {"tun"},
	"docker":  {"nf_conntrack_netlink", "xt_addrtype"},
	"xen-pv":  xenModules, "xen-pvh": xenModules, "xen-hvm": xenModules,
}

// direct is the platform of a nesting, or of none, that this guest runs itself.
func direct(platform string) string { return platform[strings.LastIndexByte(platform, '@')+1:] }

// isDomain says whether that one is a domain of Xen's.
func isDomain(platform string) bool { return strings.HasPrefix(direct(platform), "xen-") }

// loadModules loads what the platform needs. One that is missing shows in the
// platform's own check.
func loadModules(ctx context.Context, platform string) {
	for _, m := range slices.Concat(modules[""], modules[direct(platform)]) {
		_ = run(ctx, "modprobe", "--quiet", m)
	}
}

// hugePage is the size of a huge page of this architecture's kernels.
const hugePage = 2 * bench.MiB

// configure sets the guest up as the platform and its options ask of a host. It is
// this guest's alone, so nobody's settings are changed.
func configure(platform string, options map[string]string, memory bench.Bytes) error {
	set := map[string]string{}
	if options["ksm"] == "on" {
		set["/sys/kernel/mm/ksm/run"] = "1"
	}
	if options["pages"] == "huge" {
		set["/proc/sys/vm/nr_hugepages"] = strconv.FormatInt(int64((memory+hugePage-1)/hugePage), 10)
	}
	if platform == "libvirt" { // a host's boot makes it (tmpfiles.d)
		if err := os.MkdirAll("/run/libvirt", 0o755); err != nil {
			return fmt.Errorf("set up the outer guest: %w", err)
		}
	}
	for file, value := range set {
		if err := os.WriteFile(file, []byte(value), 0); err != nil {
			return fmt.Errorf("set up the outer guest: %w: %w", bench.ErrUnavailable, err)
		}
	}
	return nil
}

// seat puts the golden image where the platform could only copy it to, or could
// not take it from. Of Docker's store that is the one layer of its image, empty so far: the image is
// mounted over it, where containers find it as their lower layer.
func seat(ctx context.Context, platform string, e bench.Env) error {
	if isDomain(platform) {
		// The device mapper wants the disk for itself, and nothing else reads it.
		return run(ctx, "umount", wire.Golden)
	}
	if platform != "docker" {
		return nil
	}
	layers, err := filepath.Glob(stateDir + "/docker/overlay2/*/diff")
	if err != nil || len(layers) != 1 {
		return fmt.Errorf("docker's image: %d layers in its store, not one: %w", len(layers), errors.Join(err, bench.ErrUnavailable))
	}
	pid, err := os.ReadFile(filepath.Join(bench.RuntimeDir, e.Run, "docker/docker.pid"))
	if err != nil {
		return fmt.Errorf("docker's daemon: %w", err)
	}
	// In the daemon's own mount namespace, which keeps its store private.
	return run(ctx, "nsenter", "--target", strings.TrimSpace(string(pid)), "--mount", "mount", "--bind", wire.Golden, layers[0])
}

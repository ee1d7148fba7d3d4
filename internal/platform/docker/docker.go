// Package docker runs instances as Docker containers, by the docker command
// and a daemon of ours: the dockerd installed on the host, started inside the
// test network with its own socket, data root and configuration. A user's daemon is
// never spoken to.
package docker

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Platform is docker.
type Platform struct {
	// state is the directory kept between runs, for the data root.
	state string
}

// New returns the platform. Images stay imported between runs in the directory
// docker below state, which lies on the disk under test.
func New(state string) *Platform { return &Platform{state: state} }

// Name returns "docker".
func (*Platform) Name() string { return "docker" }

// Summary is one line for people.
func (*Platform) Summary() string { return "Docker containers, by a daemon of Tare's own" }

// Traits are the daemon's programs and stores.
func (p *Platform) Traits() bench.Traits {
	t := bench.Traits{
		Launch: 600 * time.Millisecond,
		Programs: []bench.Program{
			{Name: "dockerd", Package: "docker.io"}, {Name: "docker", Package: "docker-cli|docker.io"},
			{Name: "containerd", Package: "containerd"}, {Name: "runc", Package: "runc"},
			{Name: "losetup", Package: "mount"}, {Name: "mkfs.btrfs", Package: "btrfs-progs", For: "btrfs"},
		},
		Nesting: &bench.Nesting{
			Program: "dockerd", Memory: 512 * bench.MiB, Modules: []string{"nf_conntrack_netlink", "xt_addrtype"},
			Options: map[string]string{"runtime=crun": "crun", "runtime=runsc": "runsc", "runtime=kata": shimKata},
			Seat:    p.seat,
		},
	}
	t.Nesting.Lacks = append(t.Nesting.Lacks, published)
	for _, driver := range drivers {
		t.Kept = append(t.Kept, runPaths("", "", driver).kept()...)
		if driver != drivers[0] {
			t.Nesting.Lacks = append(t.Nesting.Lacks, copies(driver))
		}
	}
	return t
}

// Options are the switches of this platform.
func (*Platform) Options() []bench.Option {
	return []bench.Option{
		{Name: "net", Values: []string{"bridge", "host", "none"}, Default: "bridge",
			Doc: "bridge: docker0 with NAT, as by default; host: the run's test network; none: loopback only"},
		{Name: bench.PublishOption, Values: []string{"no", "yes"}, Default: "no",
			Doc: "no: clients call the container's own address; yes: they call the port that Docker publishes at the address of the run's bridge, and maps by NAT"},
		{Name: "storage", Values: []string{"rootfs", "volume", "bind"}, Default: "rootfs",
			Doc: "where /scratch lies: rootfs: in the container's own writable layer; volume: in a volume of Docker's; bind: in a directory of the host"},
		{Name: "driver", Values: drivers, Default: drivers[0],
			Doc: "how layers are stored: overlay2: overlayfs; vfs: whole copies; btrfs: snapshots"},
		{Name: "runtime", Values: belowDocker, Default: belowDocker[0],
			Doc: "what runs the container below the shim; runsc: gVisor's sandbox; kata: a virtual machine by Kata Containers' shim"},
		{Name: bench.ProgramOption, Path: true, Asked: []string{"--root=/", "--version"},
			Doc: "the path of another build of what the option runtime names, but for kata, to run in its place"},
	}
}

// belowDocker are the values of the option runtime.
var belowDocker = []string{"runc", "crun", "runsc", kata}

const install = bench.Hint("install Docker Engine, such as: apt-get install docker.io")

// programs take part in running a container; each has a --version, which begins so.
var programs = []struct{ name, banner string }{
	{"dockerd", "Docker version "}, {"docker", "Docker version "}, {"containerd", "containerd "}, {"runc", "runc version "},
}

// firstDaemon is the first dockerd that the library by which it is asked speaks to (API 1.40).
var firstDaemon = [2]int{19, 3}

// refuse finds a reason why a dockerd will not do.
func refuse(version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("dockerd %q: not a version", version)
	}
	if major < firstDaemon[0] || major == firstDaemon[0] && minor < firstDaemon[1] {
		return fmt.Errorf("dockerd %s is too old: the first that will do is %d.%02d", version, firstDaemon[0], firstDaemon[1])
	}
	return nil
}

// Check asks the installed programs for their versions; it starts no daemon.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	a := bench.Availability{Programs: map[string]string{}, Caveats: caveats}
	if !launch.BridgesFiltered() {
		a.Caveats = append(slices.Clone(caveats), unfiltered)
	}
	if os.Geteuid() != 0 {
		return a, fmt.Errorf("docker: a daemon needs root: %w%w", bench.ErrUnavailable, bench.Hint("run as root"))
	}
	for _, p := range programs { // before any is asked, which may take its time
		if _, err := launch.Program(p.name); err != nil {
			return a, fmt.Errorf("docker: %w: %w%w", err, bench.ErrUnavailable, install)
		}
	}
	versions, errs := make([]string, len(programs)), make([]error, len(programs))
	var all sync.WaitGroup
	for i, p := range programs {
		all.Go(func() { versions[i], errs[i] = launch.VersionOf(ctx, p.name, p.banner) })
	}
	all.Wait()
	for i, p := range programs {
		err := errs[i]
		if err == nil && p.name == "dockerd" {
			err = refuse(versions[i])
		}
		if err != nil {
			return a, fmt.Errorf("docker: %w: %w%w", err, bench.ErrUnavailable, install)
		}
		a.Programs[p.name] = versions[i]
	}
	a.Version = a.Programs["dockerd"]
	for _, r := range belowDocker {
		with := map[string]string{"runtime": r}
		if r != kata { // another build of the others may be chosen
			with[bench.ProgramOption] = ""
		}
		if err := available(ctx, r); err != nil {
			a.Lacks = append(a.Lacks, bench.Lack{With: with, Err: err})
		}
	}
	a.Lacks = append(a.Lacks, bench.Lack{With: map[string]string{"runtime": kata, "net": "host"}, Err: errKataHost})
	for _, net := range []string{"host", "none"} {
		a.Lacks = append(a.Lacks, bench.Lack{With: map[string]string{bench.PublishOption: "yes", "net": net}, Err: fmt.Errorf("%s=yes with net=%s: there is no bridge whose port could be published: %w%w",
			bench.PublishOption, net, bench.ErrInvalid, bench.Hint("use net=bridge"))})
	}
	a.Unfrozen = []bench.Lack{{With: map[string]string{"runtime": "runsc"}, Err: launch.ErrSandboxFrozen}}
	a.Lack("driver", "overlay2", launch.NeedFilesystem("overlay"))
	a.Lack("driver", "btrfs", p.needBtrfs())
	if path, err := findKata(); err == nil {
		if version, err := launch.Version(ctx, path); err == nil {
			a.Programs[kata] = version
		}
	}
	return a, nil
}

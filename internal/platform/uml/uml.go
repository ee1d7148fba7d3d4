// Package uml drives User-mode Linux: a Linux kernel that runs as a process of
// the host. It is a machine with a kernel of its own, and nothing of it is emulated:
// programs inside run on the host's CPU, and each of their system calls is
// intercepted by ptrace and served by that process.
//
// The root is the golden image's disk, the one virtual machines have, below a
// copy-on-write file (ubd); scratch space is a disk on the disk under test. Both go through the host's page cache:
// ubd knows no O_DIRECT. The agent is the first process, from an initial RAM file
// system, and its stream is the guest's first serial line, whose ends are
// the standard input and output of the process on the host.
//
// # Limits
//
// The guest's memory is a file on a file system in RAM of the instance's own, so that
// the control group is charged with it. The group holds the guest's memory plus
// [Allowance], its CPUs, quota and weight. A user-mode kernel has one CPU. All
// processes are in a PID namespace whose first one is the kernel: those that
// run the guest's programs would go on as processes of the host if it were killed and
// they were left.
package uml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// program is the kernel's name on Debian and Ubuntu.
const program = "linux.uml"

// optCache is how ubd writes to the scratch disk's file.
const optCache = "cache"

// Platform implements [bench.Platform].
type Platform struct{}

// New returns the platform.
func New() Platform { return Platform{} }

// Name returns "uml".
func (Platform) Name() string { return "uml" }

// Summary is one line for people.
func (Platform) Summary() string {
	return "User-mode Linux: a kernel of its own as a process of the host"
}

// Traits tell that whether it runs on the host's CPU only a start shows.
func (Platform) Traits() bench.Traits {
	return bench.Traits{
		Launch:   2 * time.Second,
		Programs: append(vm.Programs(), bench.Program{Name: program, Package: "user-mode-linux"}),
		Trial:    &bench.TrialStart{},
		Nesting:  &bench.Nesting{Guest: bench.MachineGuest, Program: program, Memory: 512 * bench.MiB, Modules: []string{"tun"}},
	}
}

// Options are the switches of this platform.
func (Platform) Options() []bench.Option {
	return []bench.Option{{Name: optCache, Values: []string{"writeback", "sync"}, Default: "writeback",
		Doc: "the scratch disk and the host's page cache: writeback leaves data there, sync waits until they are on the disk"}}
}

// Check asks the kernel for its version.
func (Platform) Check(ctx context.Context) (bench.Availability, error) {
	a, err := check(ctx)
	if err != nil {
		return bench.Availability{}, fmt.Errorf("uml: %w", err)
	}
	return a, nil
}

func check(ctx context.Context) (a bench.Availability, err error) {
	if os.Geteuid() != 0 {
		return a, fmt.Errorf("limits and a tap device need root: %w%w", bench.ErrUnavailable, bench.Hint("run as root"))
	}
	for _, need := range []struct{ program, pkg string }{{program, "user-mode-linux"}, {"mkfs.ext4", "e2fsprogs"}} {
		if _, err := launch.Program(need.program); err != nil {
			return a, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("apt-get install "+need.pkg))
		}
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return a, fmt.Errorf("no tap devices: %w: %w%w", err, bench.ErrUnavailable, bench.Hint("modprobe tun"))
	}
	if a.Version, err = launch.Version(ctx, program); err != nil {
		return a, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("is "+program+" User-mode Linux? apt-get install --reinstall user-mode-linux"))
	}
	a.Programs = map[string]string{program: a.Version}
	a.Caveats = caveats("/proc/sys/vm/max_map_count")
	return a, nil
}

// caveats are what to know of figures. The file says how many mappings a
// process of the host may have: in the worst case, a program inside needs one for each of its pages.
func caveats(mostMappings string) []bench.Caveat {
	list := []bench.Caveat{
		{Text: bench.NoDirect + ": its disk figures include the host's page cache", With: map[string]string{optCache: "writeback"}},
		{Text: bench.NoDirect + ": reads may come from the host's page cache", With: map[string]string{optCache: "sync"}},
		{Text: "guest CPU times unreliable: what the host takes from it counts as its own"},
	}
	text, err := os.ReadFile(mostMappings)
	if err != nil {
		return list
	}
	most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if size := bench.Bytes(most) * 4 * bench.KiB; err == nil && size < bench.GiB {
		list = append(list, bench.Caveat{Text: fmt.Sprintf("programs with more memory than %v may die: the host's vm.max_map_count is %d", size, most)})
	}
	return list
}

// checkLaunch refuses what the kernel could not run.
func checkLaunch(l bench.Launch) error {
	switch {
	case l.Shape.CPUs > 1:
		return fmt.Errorf("%d CPUs: a user-mode kernel has one: %w%w", l.Shape.CPUs, bench.ErrInvalid, bench.Hint("shape: {cpus: 1}"))
	case strings.ContainsAny(l.Dir, " \t\n,:="):
		return fmt.Errorf("directory %q: %w: %w%w", l.Dir, errPath, bench.ErrInvalid, bench.Hint("use a state directory without them"))
	}
	return vm.CheckShape(l)
}

var errPath = errors.New("the kernel's command line cannot name blanks, commas, colons and equals signs")

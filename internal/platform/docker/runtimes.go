package docker

import (
	"context"
	"crypto/sha256"
	"fmt"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// runtime is an entry of dockerd's configuration: a program below its own shim, or
// another shim.
type runtime struct {
	Path string   `json:"path,omitempty"`
	Args []string `json:"runtimeArgs,omitempty"`
	Shim string   `json:"runtimeType,omitempty"`
}

// runtimeArgs are what a runtime is told besides, by its name.
var runtimeArgs = map[string][]string{"runc": nil, "crun": nil, "runsc": {"--platform=systrap"}}

// runtimes are those that dockerd does not know by itself and that are installed, and
// the programs chosen in the place of each.
func runtimes(ctx context.Context, programs []string) map[string]runtime {
	list := map[string]runtime{}
	for name, args := range runtimeArgs {
		if path, err := launch.Program(name); err == nil && name != belowDocker[0] {
			list[name] = runtime{Path: path, Args: args}
		}
		for _, path := range programs {
			list[chosenName(name, path)] = runtime{Path: path, Args: args}
		}
	}
	if path, err := kataAvailable(ctx); err == nil {
		list[kata] = runtime{Shim: path}
	}
	return list
}

// chosenName is what dockerd calls a program that is chosen in the place of a runtime.
func chosenName(runtime, path string) string {
	return fmt.Sprintf("tare-%s-%x", runtime, sha256.Sum256([]byte(path)))[:len("tare--")+len(runtime)+12]
}

// runtimeOf is the name by which dockerd knows what is to run a launch.
func runtimeOf(options map[string]string) string {
	if path := options[bench.ProgramOption]; path != "" {
		return chosenName(options["runtime"], path)
	}
	return options["runtime"]
}

// where are the installation guides of runtimes that Debian has none of, or too old a one.
var where = map[string]string{"runsc": " of 2025 or later (https://gvisor.dev/docs/user_guide/install/)"}

// available returns an error if the runtime is not installed.
func available(ctx context.Context, runtime string) error {
	if runtime == kata {
		_, err := kataAvailable(ctx)
		return err
	}
	if _, err := launch.Program(runtime); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("install "+runtime+where[runtime]+", or use docker[runtime=runc]"))
	}
	return nil
}

// sandboxParts are the processes of runsc in a container's cgroup, see platform gvisor.
var sandboxParts = map[string]string{"runsc-sandbox": "sandbox", "runsc-gofer": "gofer"}

// caveats are those of gVisor, as of platform gvisor, of Kata and of the storage drivers.
var caveats = []bench.Caveat{
	{Text: "O_DIRECT not honoured: its disk figures include the host's page cache", With: map[string]string{"runtime": "runsc"}},
	{Text: "guest CPU times unreliable: read the host's control group", With: map[string]string{"runtime": "runsc"}},
	{Text: "killed as a whole when it runs out of memory", With: map[string]string{"runtime": "runsc"}},
	{Text: "Kata's own processes are outside of the limits unless its sandbox_cgroup_only is true", With: map[string]string{"runtime": kata}},
	{Text: "the machine's memory is Kata's default_memory and the limit", With: map[string]string{"runtime": kata}},
	{Text: "btrfs lies in a file on the disk under test unless that is btrfs itself", With: map[string]string{"driver": "btrfs"}},
}

// unfiltered is said where br_netfilter is not loaded. A dockerd of the user's loads it, for all bridges of the host.
var unfiltered = bench.Caveat{
	Text: "frames on its bridge pass no iptables, as they would where Docker's own service has loaded br_netfilter: modprobe br_netfilter",
	With: map[string]string{"net": "bridge"},
}

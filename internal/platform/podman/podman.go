// Package podman runs instances by podman, which has no daemon: each container
// is watched over by a conmon of its own. Its root file system is the image
// under a layer of Tare's, as for a bare runtime, and not in a store of Podman's.
package podman

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/oci"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:    "podman",
		Program: "podman",
		Summary: "Podman containers, without a daemon",
		Install: "install Podman, such as: apt-get install podman",
		Traits: bench.Traits{
			Launch:   400 * time.Millisecond,
			Programs: []bench.Program{{Name: "podman", Package: "podman"}, {Name: "newuidmap", Package: "uidmap", Mute: true}, oci.CRIU},
			Nesting:  &bench.Nesting{Options: map[string]string{"runtime=crun": "crun", "runtime=runc": "runc"}},
		},
		Options: []bench.Option{
			{Name: "root", Values: []string{"yes", "no"}, Default: "yes",
				Doc: "who runs it: root, or an unprivileged user, who cannot limit anything where control groups are of version 1"},
			{Name: "runtime", Values: []string{"crun", "runc"}, Default: "crun", Doc: "what runs the container below conmon"},
			oci.Chosen("the path of the program that runs the container below conmon, in the place of the option runtime; it is asked as crun is"),
			{Name: "seccomp", Values: []string{"unconfined", "default"}, Default: "unconfined",
				Doc: "the filter of system calls; default: Podman's own, with which libaio may fail"},
		},
		Setup: setup,
		User:  &oci.User{With: map[string]string{"root": "no"}, Home: home},
		Run:   run,
		Delete: func(s oci.Site) [][]string {
			remove := append(global(s), "rm", "--force", "--ignore", "--time", "0", s.Launch.ID)
			return [][]string{remove, remove} // of one that was killed the first fails, and finds out
		},
		Group:   "libpod-*",
		Part:    "client",
		Watcher: "monitor",
	})
}

// watchers is the mark of the run's conmons. Podman hands them no environment of
// its own, and one that outlived a killed run would still start its container.
func watchers(run string) string { return run + "-conmon" }

func configuration(run string) []byte {
	return fmt.Appendf(nil, `[containers]
default_ulimits = []
[engine]
lock_type = "file"
events_logger = "none"
conmon_env_vars = ["PATH=%s", "%s=%s"]
`, launch.SearchPath(""), bench.ProcessMark, watchers(run))
}

// networks has Podman look for networks in a directory where it may leave its lock.
func networks(dir string) []byte {
	return fmt.Appendf(nil, "[network]\nnetwork_config_dir = %q\n", dir)
}

// asked is what crun makes when Podman asks for its version.
const asked = "/run/crun"

// setup keeps the user's own configuration and locks out of it. What Podman
// notes of a container ends with the run's directory.
func setup(_ context.Context, env bench.Env, state string) (oci.Service, error) {
	if err := env.Ledger.Register(bench.KindProcess, watchers(env.Run)); err != nil {
		return oci.Service{}, err
	}
	var undo launch.Undo
	if err := launch.Provide(&undo, env.Ledger, asked); err != nil {
		return oci.Service{}, err
	}
	file := filepath.Join(state, "containers.conf")
	return oci.Service{
		Vars: []string{"CONTAINERS_CONF=" + file},
		Close: func(ctx context.Context) error {
			return errors.Join(undo.Run(ctx), env.Ledger.Release(bench.KindProcess, watchers(env.Run)))
		},
	}, os.WriteFile(file, append(configuration(env.Run), networks(filepath.Join(state, "networks"))...), 0o600)
}

// home is that of the unprivileged user who is made for a launch.
func home(run, dir string) error {
	dir = filepath.Join(dir, ".config/containers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "containers.conf"), configuration(run), 0o644)
}

// global are the arguments before the verb. Nothing is stored, so no driver
// that mounts its store is needed.
func global(s oci.Site) []string {
	return []string{
		"--root", filepath.Join(s.State, "store"), "--runroot", filepath.Join(s.State, "run"), "--tmpdir", filepath.Join(s.State, "tmp"),
		"--storage-driver", "vfs", "--cgroup-manager", "cgroupfs",
		// What the runtime notes of a container must go with a killed run, too.
		"--runtime", cmp.Or(s.Launch.Options[bench.ProgramOption], s.Launch.Options["runtime"]), "--runtime-flag", "root=" + filepath.Join(s.State, "runtime"),
	}
}

// run has the limits of the specification that a runtime would be given.
func run(s oci.Site) []string {
	args := append(global(s), "run", "--rm", "--interactive", "--name", s.Launch.ID, "--hostname", s.Launch.ID,
		"--log-driver", "none", "--ulimit", "host", "--network", network(s))
	if s.Home == "" || s.Delegated {
		args = append(args, "--cgroup-parent", "/"+s.Group)
	}
	if s.Launch.Options["seccomp"] == "unconfined" {
		args = append(args, "--security-opt", "seccomp=unconfined")
	}
	number := func(flag string, n *int64) {
		if n != nil {
			args = append(args, flag, strconv.FormatInt(*n, 10))
		}
	}
	limits := s.Spec.Linux.Resources
	if limits.CPU.Cpus != "" && s.Home == "" { // an unprivileged user's is that of the group around it
		args = append(args, "--cpuset-cpus", limits.CPU.Cpus)
	}
	if limits.CPU.Quota != nil {
		args = append(args, "--cpu-period", strconv.FormatUint(*limits.CPU.Period, 10))
	}
	number("--cpu-quota", limits.CPU.Quota)
	if m := limits.Memory; m != nil {
		number("--memory", m.Limit)
		number("--memory-swap", m.Swap)
	}
	if limits.Pids != nil {
		number("--pids-limit", limits.Pids.Limit)
	} else if s.Home == "" || s.Delegated {
		args = append(args, "--pids-limit", "-1") // its own default is 2048
	}
	if io := limits.BlockIO; io != nil {
		throttle := func(unit string, rate uint64) {
			args = append(args, "--device-read-"+unit, fmt.Sprintf("%s:%d", s.Disk, rate), "--device-write-"+unit, fmt.Sprintf("%s:%d", s.Disk, rate))
		}
		for _, t := range io.ThrottleReadIOPSDevice {
			throttle("iops", t.Rate)
		}
		for _, t := range io.ThrottleReadBpsDevice {
			throttle("bps", t.Rate)
		}
	}
	for _, m := range s.Spec.Mounts {
		if m.Type == "bind" {
			args = append(args, "--mount", "type=bind,source="+m.Source+",target="+m.Destination+readOnly(m.Options))
		}
	}
	return append(append(args, "--rootfs", s.Rootfs), s.Spec.Process.Args...)
}

func readOnly(options []string) string {
	for _, o := range options {
		if o == "ro" {
			return ",readonly"
		}
	}
	return ""
}

func network(s oci.Site) string {
	if s.NetNS != "" {
		return "ns:" + s.NetNS
	}
	if s.Home != "" && s.Launch.Options["net"] == "veth" {
		return "host" // the network namespace that it is started in
	}
	return s.Launch.Options["net"]
}

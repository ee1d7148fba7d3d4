// Package bwrap runs instances in sandboxes of bubblewrap: new namespaces, no
// daemon, no image store. It has no limits and no network of its own either, so
// cgroup, layer and wire are made for it, before the launch.
package bwrap

import (
	"context"
	"fmt"
	"os"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Platform implements [bench.Platform].
type Platform struct{}

// New returns the platform.
func New() Platform { return Platform{} }

// Name returns "bwrap".
func (Platform) Name() string { return "bwrap" }

// Summary is one line for people.
func (Platform) Summary() string { return "sandboxes by bubblewrap, as Flatpak has them" }

// Traits are the package it comes in and that it runs in any guest.
func (Platform) Traits() bench.Traits {
	return bench.Traits{
		Launch: 200 * time.Millisecond, Nesting: &bench.Nesting{},
		Programs: []bench.Program{{Name: "bwrap", Package: "bubblewrap"}},
	}
}

// Options are the switches of this platform.
func (Platform) Options() []bench.Option {
	return []bench.Option{launch.NetOption, {Name: "userns", Values: []string{"no", "yes"}, Default: "no",
		Doc: "yes: in a user namespace of its own, in which root is the only user there is"}}
}

// Check asks bwrap for its version.
func (Platform) Check(ctx context.Context) (bench.Availability, error) {
	unavailable := func(why any, hint bench.Hint) (bench.Availability, error) {
		return bench.Availability{}, fmt.Errorf("bwrap: %v: %w%w", why, bench.ErrUnavailable, hint)
	}
	if os.Geteuid() != 0 {
		return unavailable("limits and a bridge need root", "run as root")
	}
	version, err := launch.Version(ctx, "bwrap")
	if err != nil {
		return unavailable(err, "apt-get install bubblewrap")
	}
	if err := launch.NeedFilesystem("overlay"); err != nil {
		return bench.Availability{}, fmt.Errorf("bwrap: %w", err)
	}
	a := bench.Availability{Version: version, Programs: map[string]string{"bwrap": version}}
	a.Lack("userns", "yes", launch.NeedUserNamespaces())
	return a, nil
}

// Open looks for the image; bwrap has no daemon.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	return launch.Box{Program: "bwrap", Args: args}.Open(ctx, env)
}

// args are those of bwrap for one sandbox.
func args(s launch.Site) []string {
	a := []string{"--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup", "--hostname", "sandbox",
		"--bind", s.Root, "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys",
		"--bind", s.Scratch, bench.ScratchDir, "--ro-bind", s.Agent, launch.AgentInside}
	if s.Launch.Options["net"] == "none" {
		a = append(a, "--unshare-net")
	}
	if s.Launch.Options["userns"] == "yes" {
		a = append(a, "--unshare-user", "--uid", "0", "--gid", "0")
	}
	return append(a, "--", launch.AgentInside, "serve")
}

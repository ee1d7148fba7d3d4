// Package lxc runs instances as application containers, by
// lxc-execute in the foreground: its standard streams reach the agent as they
// are, through no terminal. Or, with init=systemd, as system containers by lxc-start: the agent is a
// service there, and connects to a socket.
package lxc

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Platform is lxc.
type Platform struct {
	// Boots says why the image cannot boot as a system container; nil if that is not known.
	Boots func() error
}

// New returns the platform.
func New() Platform { return Platform{} }

// Name returns "lxc".
func (Platform) Name() string { return "lxc" }

// Summary is one line for people.
func (Platform) Summary() string {
	return "LXC application containers, by lxc-execute, or system containers"
}

// Traits are its programs and what it needs of an outer guest.
func (Platform) Traits() bench.Traits {
	return bench.Traits{
		Launch: 200 * time.Millisecond,
		Programs: []bench.Program{
			{Name: "lxc-start", Package: "lxc"}, {Name: "lxc-execute", Package: "lxc"}, {Name: "cp", Package: "coreutils"},
		},
		Nesting: &bench.Nesting{Program: "lxc-start", Options: map[string]string{"init=systemd": "systemd-sysv"}},
	}
}

// Options are the switches of this platform.
func (Platform) Options() []bench.Option {
	return []bench.Option{
		{Name: "net", Values: []string{"veth", "host", "none"}, Default: "veth",
			Doc: "veth: an address on the test network's bridge; host: the run's test network; none: loopback only"},
		{Name: "store", Values: []string{"overlay", "dir"}, Default: "overlay",
			Doc: "the root: overlay: the image below a layer of the container's own; dir: a copy of the image, made before the launch"},
		launch.InitOption,
		{Name: "userns", Values: []string{"no", "yes"}, Default: "no",
			Doc: "yes: unprivileged, in a user namespace of its own, whose users are others outside (idmapped mounts)"},
	}
}

const install = bench.Hint("install LXC, such as: apt-get install lxc")

// shared is what every container's configuration includes, as those made by
// lxc-create do: capabilities, devices, system call filter.
const shared = "/usr/share/lxc/config/common.conf"

// sharedUserns is what those of unprivileged containers include besides.
const sharedUserns = "/usr/share/lxc/config/userns.conf"

// runtimeDir is where LXC leaves its lock files.
const runtimeDir = "/run/lxc"

// Check asks lxc-execute for its version.
func (p Platform) Check(ctx context.Context) (bench.Availability, error) {
	a := bench.Availability{Programs: map[string]string{}}
	if os.Geteuid() != 0 {
		return a, fmt.Errorf("lxc: containers with a bridge need root: %w%w", bench.ErrUnavailable, bench.Hint("run as root"))
	}
	if _, err := launch.Program("lxc-execute"); err != nil {
		return a, fmt.Errorf("lxc: %w: %w%w", err, bench.ErrUnavailable, install)
	}
	if _, err := os.Stat(shared); err != nil {
		return a, fmt.Errorf("lxc: shared configuration: %w: %w%w", err, bench.ErrUnavailable, install)
	}
	out, err := launch.Output(ctx, "lxc-execute", "--version")
	if err != nil {
		return a, fmt.Errorf("lxc: %w: %w%w", err, bench.ErrUnavailable, install)
	}
	if a.Version, err = parseVersion(string(out)); err != nil {
		return a, fmt.Errorf("lxc: lxc-execute --version: %w: %w%w", err, bench.ErrUnavailable, install)
	}
	a.Programs["lxc-execute"] = a.Version
	a.Lack("store", "overlay", launch.NeedFilesystem("overlay"))
	a.Lack("userns", "yes", unprivileged())
	if p.Boots != nil {
		a.Lack("init", "systemd", p.Boots())
	}
	return a, nil
}

// unprivileged returns why the host cannot run containers with users of their own.
func unprivileged() error {
	if _, err := os.Stat(sharedUserns); err != nil {
		return fmt.Errorf("shared configuration: %w: %w%w", err, bench.ErrUnavailable, install)
	}
	return launch.NeedMappedIDs()
}

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+[0-9A-Za-z.+~-]*$`)

// parseVersion reads what lxc-execute prints for --version.
func parseVersion(text string) (string, error) {
	v := strings.TrimSpace(text)
	if !versionPattern.MatchString(v) {
		return "", fmt.Errorf("no version in %q", text)
	}
	return v, nil
}

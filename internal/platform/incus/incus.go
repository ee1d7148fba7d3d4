// Package incus runs instances in containers of Incus: unprivileged, made and
// started by a daemon of Tare's own with its own state, and LXC below it. As application
// containers, the agent alone; or, with init=systemd, as the system containers that
// Incus is for. The root file system is the image under a layer of Tare's, not an image in
// a storage pool of Incus's.
package incus

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

// Name returns "incus".
func (Platform) Name() string { return "incus" }

// Summary is one line for people.
func (Platform) Summary() string {
	return "unprivileged containers of Incus, by a daemon of Tare's own"
}

// Traits are its programs, and those that the daemon needs.
func (Platform) Traits() bench.Traits {
	return bench.Traits{
		Launch: 900 * time.Millisecond,
		Programs: []bench.Program{
			{Name: "incusd", Package: "incus-base", Optional: true}, {Name: "incus", Package: "incus-client", Optional: true},
			{Name: "rsync", Package: "rsync"}, {Name: "setfattr", Package: "attr"}, {Name: "unsquashfs", Package: "squashfs-tools", Mute: true},
		},
	}
}

// Options are the switches of this platform.
func (Platform) Options() []bench.Option {
	return []bench.Option{
		{Name: "net", Values: []string{"veth", "none"}, Default: "veth", Doc: "veth: an address on the test network's bridge; none: loopback only"},
		launch.InitOption,
	}
}

const (
	client  = "incus"
	install = bench.Hint("install Incus: apt-get install incus-base (Debian 13; Debian 12 has it in bookworm-backports)")
)

// needs are programs that the daemon does not start without, and who has them.
var needs = []struct{ program, pkg string }{{"rsync", "rsync"}, {"setfattr", "attr"}, {"unsquashfs", "squashfs-tools"}, {"xz", "xz-utils"}}

// daemonProgram is the daemon, which distributions keep out of the way.
func daemonProgram() (path string, err error) {
	for _, name := range []string{"incusd", "/usr/libexec/incus/incusd", "/usr/lib/incus/incusd", "/opt/incus/bin/incusd"} {
		if path, err = launch.Program(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("incusd is not installed")
}

// Check asks the daemon's program for its version; its client is of the same.
func (Platform) Check(ctx context.Context) (bench.Availability, error) {
	unavailable := func(why any, hint bench.Hint) (bench.Availability, error) {
		return bench.Availability{}, fmt.Errorf("incus: %v: %w%w", why, bench.ErrUnavailable, hint)
	}
	if os.Geteuid() != 0 {
		return unavailable("a daemon for containers needs root", "run as root")
	}
	path, err := daemonProgram()
	if err != nil {
		return unavailable(err, install)
	}
	version, err := launch.Version(ctx, path)
	if err != nil {
		return unavailable(err, install)
	}
	if _, err := launch.Program(client); err != nil {
		return unavailable(err, install)
	}
	for _, n := range needs {
		if _, err := launch.Program(n.program); err != nil {
			return unavailable(err, bench.Hint("incusd does not start without it: apt-get install "+n.pkg))
		}
	}
	return bench.Availability{Version: version, Programs: map[string]string{"incusd": version}}, nil
}

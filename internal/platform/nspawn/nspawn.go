// Package nspawn runs instances in containers of systemd-nspawn, as application
// containers in the foreground: the agent is beside a small init of nspawn's own. Or, with
// init=systemd, as system containers in which the agent is a service.
// It needs no systemd on the host: nothing is registered with one, and the limits are those of the
// control group it is started in.
package nspawn

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Platform implements [bench.Platform].
type Platform struct {
	// Boots says why the image cannot boot as a system container; nil if that is not known.
	Boots func() error
}

// New returns the platform.
func New() Platform { return Platform{} }

// Name returns "nspawn".
func (Platform) Name() string { return "nspawn" }

// Summary is one line for people.
func (Platform) Summary() string {
	return "containers of systemd-nspawn, without systemd around or inside"
}

// Traits tell that whether it can map users only a start shows.
func (Platform) Traits() bench.Traits {
	return bench.Traits{
		Launch:   300 * time.Millisecond,
		Programs: []bench.Program{{Name: program, Package: "systemd-container"}},
		Trial:    &bench.TrialStart{Option: "userns"},
		Nesting:  &bench.Nesting{Program: program, Options: map[string]string{"init=systemd": "systemd-sysv"}},
	}
}

// Options are the switches of this platform.
func (Platform) Options() []bench.Option {
	return []bench.Option{launch.NetOption, launch.InitOption, {Name: "userns", Values: []string{"no", "yes"}, Default: "no",
		Doc: "yes: in a user namespace of its own, whose users are others outside (idmapped mounts)"}}
}

const program = "systemd-nspawn"

// Check asks systemd-nspawn for its version.
func (p Platform) Check(ctx context.Context) (bench.Availability, error) {
	unavailable := func(why any, hint bench.Hint) (bench.Availability, error) {
		return bench.Availability{}, fmt.Errorf("nspawn: %v: %w%w", why, bench.ErrUnavailable, hint)
	}
	if os.Geteuid() != 0 {
		return unavailable("containers need root", "run as root")
	}
	version, err := launch.Version(ctx, program)
	if err != nil {
		return unavailable(err, "apt-get install systemd-container")
	}
	if err := launch.NeedFilesystem("overlay"); err != nil {
		return bench.Availability{}, fmt.Errorf("nspawn: %w", err)
	}
	a := bench.Availability{Version: version, Programs: map[string]string{program: version}}
	a.Lack("userns", "yes", launch.NeedMappedIDs())
	if p.Boots != nil {
		a.Lack("init", "systemd", p.Boots())
	}
	return a, nil
}

// Open looks for the image; nspawn has no daemon.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	// In /run/systemd it keeps locks and sockets by the machine's name.
	return launch.Box{Program: program, Args: args, Hide: []string{"/run/systemd"}, MapIDs: mapsIDs, Boots: boots}.Open(ctx, env)
}

func boots(l bench.Launch) bool   { return l.Options["init"] == "systemd" }
func mapsIDs(l bench.Launch) bool { return l.Options["userns"] == "yes" }

// args are those of systemd-nspawn for one container.
func args(s launch.Site) []string {
	a := []string{"--quiet", "--settings=no", "--register=no", "--keep-unit", "--console=pipe",
		"--directory=" + s.Root, "--machine=" + s.Launch.ID,
		"--bind=" + escape(s.Scratch) + ":" + bench.ScratchDir, "--bind-ro=" + escape(s.Agent) + ":" + launch.AgentInside,
		"--resolv-conf=off", "--timezone=off", "--link-journal=no"}
	if s.Launch.Options["net"] == "none" {
		a = append(a, "--private-network")
	}
	if mapsIDs(s.Launch) {
		a = append(a, fmt.Sprintf("--private-users=%d:%d", launch.FirstID, launch.IDs), "--private-users-ownership=off")
	}
	if boots(s.Launch) {
		return append(append(a, "--bind="+escape(s.Port)+":"+launch.PortInside, "--boot"), launch.InitArgs(s.V2)...)
	}
	return append(a, "--as-pid2", launch.AgentInside, "serve")
}

// escape writes a path for --bind, where a colon separates.
func escape(path string) string { return strings.ReplaceAll(path, ":", `\:`) }

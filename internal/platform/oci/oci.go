// Package oci runs instances by an OCI runtime in the foreground: it writes the
// bundle that the runtime is given (config.json by the runtime specification and
// an overlay of the image for its root), and what to prepare, find, meter and
// take back. A runtime itself is a value, see [Runtime].
package oci

import (
	"context"
	"fmt"
	"os"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Runtime is a program that runs bundles as runc does: global flags, then
// run --bundle DIR ID, delete --force ID.
type Runtime struct {
	Name    string // of the platform
	Program string
	Summary string
	Install bench.Hint
	// Options are its own, besides those of every runtime.
	Options []bench.Option
	// Flags are its own global flags for a launch with the options; may be nil.
	Flags func(options map[string]string) []string
	// Parts are the processes it starts beside the container's, in the
	// container's cgroup: the part each plays, by the first word of its command line.
	Parts map[string]string
	// Uncounted are limits it would not hold the container to: they are not asked for.
	Uncounted []string
	Caveats   []bench.Caveat
	// Refuse finds a reason why a version will not do; may be nil.
	Refuse func(version string) error
}

// Platform implements [bench.Platform] for one runtime.
type Platform struct{ runtime Runtime }

// New returns the platform of the runtime.
func New(r Runtime) *Platform { return &Platform{r} }

// Name is the runtime's.
func (p *Platform) Name() string { return p.runtime.Name }

// Summary is one line for people.
func (p *Platform) Summary() string { return p.runtime.Summary }

// Options are where the container's network and scratch space lie, and the runtime's own.
func (p *Platform) Options() []bench.Option {
	return append([]bench.Option{
		{Name: "net", Values: []string{"veth", "host", "none"}, Default: "veth",
			Doc: "veth: an address on the lab's bridge; host: the lab's own network; none: loopback only"},
		{Name: "storage", Values: []string{"bind", "rootfs"}, Default: "bind",
			Doc: "where /scratch lies: in a directory of the host, or in the container's own writable layer"},
	}, p.runtime.Options...)
}

// Check asks the runtime for its version.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	r := p.runtime
	a := bench.Availability{Programs: map[string]string{}, Caveats: r.Caveats}
	if os.Geteuid() != 0 {
		return a, fmt.Errorf("%s: containers with a bridge need root: %w%w", r.Name, bench.ErrUnavailable, bench.Hint("run as root"))
	}
	version, err := launch.Version(ctx, r.Program)
	if err == nil && r.Refuse != nil {
		err = r.Refuse(version)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w: %w%w", r.Name, err, bench.ErrUnavailable, r.Install)
	}
	a.Version, a.Programs[r.Program] = version, version
	return a, nil
}

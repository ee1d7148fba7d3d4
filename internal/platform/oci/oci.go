// Package oci runs instances by an OCI runtime, or what drives one, in the
// foreground: it writes the bundle that the runtime is given (config.json by the
// runtime specification and an overlay of the image for its root), and knows what to
// prepare, find, meter and take back. A runtime itself is a value, see [Runtime].
package oci

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Runtime is a program that runs bundles as runc does (global flags, then
// run --bundle DIR ID, delete --force ID), or one that says in Run and Delete how
// it is asked to run the same container.
type Runtime struct {
	Name    string // of the platform
	Program string
	Summary string
	Install bench.Hint
	Traits  bench.Traits
	Needs   []string // further programs that must be installed
	// Options are its own, besides those of every runtime.
	Options []bench.Option
	// Chooses: another build of the program may be chosen, by an option of its own.
	Chooses bool
	// Flags are its own global flags for a launch with the options; may be nil.
	Flags func(options map[string]string) []string
	// Setup makes what all launches of a run share, with the state directory for
	// its files; may be nil. When it fails it leaves nothing behind.
	Setup func(ctx context.Context, env bench.Env, state string) (Service, error)
	// Run are arguments in place of runc's, and Delete those of one or several commands, in turn.
	Run    func(Site) []string
	Delete func(Site) [][]string
	// Group is the pattern of the name of the container's cgroup, for a program
	// that names it itself, in the one it is given; "" is the specification's.
	Group string
	// Part is the program's own while it waits for the container; "" is "runtime".
	Part string
	// Watcher is the part of the process whose child the container is; "" if it
	// is the program's.
	Watcher string
	// Parts are the processes it starts beside the container's, in the
	// instance's cgroup: the part each plays, by the first word of its command line.
	Parts map[string]string
	// Threads are those of the one among them that is a monitor; nil if none is.
	Threads *bench.Threads
	// User, if not nil, is who runs it for some launches instead of root.
	User *User
	// OwnKernel: the container's programs run on a kernel that is not the host's.
	OwnKernel bool
	Caveats   []bench.Caveat
	// Unfrozen is why its containers do not go on after they were frozen; nil if they do.
	Unfrozen error
	// Refuse finds a reason why a version will not do; may be nil.
	Refuse func(version string) error
	// Doubts are what is to be borne in mind of a version; may be nil.
	Doubts func(version string) []bench.Caveat
	// Feature is a word that it must print for --version, such as "+LIBKRUN"; "" for none.
	Feature string
	// Host says what of the host it lacks; may be nil.
	Host func() error
	// Restores: it checkpoints and restores containers by CRIU, asked as runc is,
	// if it prints the word RestoreFeature for --version, "" for none.
	Restores       bool
	RestoreFeature string
	// Adapt changes the specification for it, and returns the limits it does not
	// hold; may be nil.
	Adapt func(*specs.Spec, bench.Launch) (unenforced []string, err error)
}

// CRIU is what a runtime's checkpoints need.
var CRIU = bench.Program{Name: "criu", Package: "criu", Optional: true}

// Site is one launch as the program is told of it, all paths absolute.
type Site struct {
	Launch bench.Launch
	State  string // where the program keeps its own notes
	Bundle string
	Rootfs string
	Group  string // the cgroup to make the container's in, relative to each hierarchy
	NetNS  string // to join; "" for the one the program is started in, or none
	Disk   string // the device the disk limits of Spec are for
	// Home is the home directory of the unprivileged user who runs the program, ""
	// for root; Delegated says that this user may make control groups in Group.
	Home      string
	Delegated bool
	// Spec is the bundle's specification; limits that the host lacks are not in it.
	Spec specs.Spec
}

// Service is what all launches of a run share.
type Service struct {
	Vars   []string                    // of the program's environment
	Daemon int                         // the process that starts the containers instead of the program; 0 is none
	Shared []bench.Process             // daemons
	Close  func(context.Context) error // may be nil
}

// Platform implements [bench.Platform] for one runtime.
type Platform struct {
	runtime Runtime
	without error // why the runtime's own build cannot be used, where others are chosen
}

// New returns the platform of the runtime.
func New(r Runtime) *Platform { return &Platform{runtime: r} }

// Name is the runtime's.
func (p *Platform) Name() string { return p.runtime.Name }

// Summary is one line for people.
func (p *Platform) Summary() string { return p.runtime.Summary }

// Traits are the runtime's.
func (p *Platform) Traits() bench.Traits { return p.runtime.Traits }

// Options are where the container's network and scratch space lie, and the runtime's own.
func (p *Platform) Options() []bench.Option {
	return append([]bench.Option{
		{Name: "net", Values: []string{"veth", "host", "none"}, Default: "veth",
			Doc: "veth: an address on the test network's bridge; host: the run's test network; none: loopback only"},
		{Name: "storage", Values: []string{"bind", "rootfs"}, Default: "bind",
			Doc: "where /scratch lies: in a directory of the host, or in the container's own writable layer"},
	}, slices.Concat(p.runtime.Options, p.runtime.chosen())...)
}

// Chosen implements [bench.Choosing].
func (p *Platform) Chosen(own error) bench.Platform {
	if !p.runtime.Chooses {
		return nil
	}
	return &Platform{runtime: p.runtime, without: own}
}

// Check asks the runtime for its version.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	r := p.runtime
	a := bench.Availability{Programs: map[string]string{}}
	if os.Geteuid() != 0 {
		return a, fmt.Errorf("%s: containers with a bridge need root: %w%w", r.Name, bench.ErrUnavailable, bench.Hint("run as root"))
	}
	version, err := p.version(ctx)
	if err != nil {
		return a, fmt.Errorf("%s: %w: %w%w", r.Name, err, bench.ErrUnavailable, r.Install)
	}
	if r.Host != nil {
		if err := r.Host(); err != nil {
			return a, fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	for _, name := range r.Needs {
		if a.Programs[name], err = launch.Version(ctx, name); err != nil {
			return a, fmt.Errorf("%s: %w: %w%w", r.Name, err, bench.ErrUnavailable, r.Install)
		}
	}
	if r.Restores {
		host, err := r.checkpoints(ctx)
		if a.Migrates, a.Unmoved = bench.Checkpoint, err; err == nil {
			a.Programs["criu"] = host.Version
		}
	}
	if r.Unfrozen != nil {
		a.Unfrozen = []bench.Lack{{Err: r.Unfrozen}}
	}
	caveats, err := r.User.caveats()
	if err != nil {
		return a, fmt.Errorf("%s: %w", r.Name, err)
	}
	if err := launch.NeedFilesystem("overlay"); err != nil {
		return a, fmt.Errorf("%s: %w", r.Name, err)
	}
	a.Version, a.Caveats = version, slices.Concat(r.Caveats, caveats)
	a.Lack(bench.ProgramOption, "", p.without)
	if p.without == nil {
		a.Programs[r.Program] = version
		if r.Doubts != nil {
			a.Caveats = append(a.Caveats, r.Doubts(version)...)
		}
	}
	for _, o := range r.Options {
		if o.Name != optRuntime {
			continue
		}
		for _, below := range o.Values {
			if err := needRuntime(below); err != nil {
				a.Lacks = append(a.Lacks, bench.Lack{With: map[string]string{o.Name: below, bench.ProgramOption: ""}, Err: err})
			}
		}
	}
	return a, nil
}

// version is that of the runtime's own build, if it will do; "" where only others are chosen.
func (p *Platform) version(ctx context.Context) (string, error) {
	r := p.runtime
	if p.without != nil {
		return "", nil
	}
	version, err := launch.Version(ctx, r.Program)
	if err == nil && r.Refuse != nil {
		err = r.Refuse(version)
	}
	if err == nil && r.Feature != "" {
		err = r.built(ctx)
	}
	return version, err
}

// chosen is the option of a runtime of which another build may be chosen.
func (r Runtime) chosen() []bench.Option {
	if !r.Chooses {
		return nil
	}
	return []bench.Option{Chosen("the path of another build of " + r.Program + " to run; what the platform's own build can do is supposed of it")}
}

// Chosen is the option of a platform below which another runtime may be chosen.
func Chosen(doc string) bench.Option {
	return bench.Option{Name: bench.ProgramOption, Doc: doc, Path: true, Asked: []string{"--root=/", "--version"}}
}

// optRuntime is the option of a program that has a choice of runtimes below it.
const optRuntime = "runtime"

func needRuntime(name string) error {
	if _, err := launch.Program(name); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("install "+name+", or choose another runtime: tare list platforms"))
	}
	return nil
}

// built looks for the feature in what the program says of itself.
func (r Runtime) built(ctx context.Context) error {
	out, err := launch.About(ctx, r.Program)
	if err == nil && !slices.Contains(strings.Fields(string(out)), r.Feature) {
		err = fmt.Errorf("%s was built without %s", r.Program, r.Feature)
	}
	return err
}

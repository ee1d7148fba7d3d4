package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// AgentInside is where a box's agent is to lie inside.
const AgentInside = "/.tare-agent"

// NetOption is how a box is connected. With "none" it is the program's business
// to take the test network's network away.
var NetOption = bench.Option{Name: "net", Values: []string{"veth", "host", "none"}, Default: "veth",
	Doc: "veth: an address on the test network's bridge; host: the run's test network; none: loopback only"}

// Box is a platform that is one program in the foreground, such as bwrap, with
// its standard streams leading to the agent. What such a program lacks
// is made for it beforehand: a control group with all the shape's limits, a
// layer over the image, a wire to the test network's bridge.
type Box struct {
	Program string
	// Args returns the program's arguments for one instance.
	Args func(Site) []string
	// Hide are directories of the host in which the program is to find and leave nothing.
	Hide []string
	// MapIDs, if not nil, says whether the instance has a user namespace of its
	// own, of IDs users from FirstID on.
	MapIDs func(bench.Launch) bool
	// Boots, if not nil, says whether the instance is a system container, whose
	// agent calls on a socket in the directory Site.Port.
	Boots func(bench.Launch) bool
}

// Site is what is made ready for the program, all paths absolute.
type Site struct {
	Launch  bench.Launch
	Root    string // the image under a layer of the instance's own; only the program sees it
	Scratch string // to appear at [bench.ScratchDir]
	Agent   string // to appear at [AgentInside]
	Port    string // of a system container, to appear at [PortInside]
	V2      bool   // the host's control groups are of version 2
}

// boxes implements [bench.Engine].
type boxes struct {
	Box
	env     bench.Env
	path    string // of the program
	image   string
	cgroups *cgroup.FS
	addr    netip.Addr
	undo    Undo
}

// Open looks for the program and the image.
func (b Box) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &boxes{Box: b, env: env}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", b.Program, e.undo.Fail(ctx, err))
	}
	return e, nil
}

func (e *boxes) open(ctx context.Context) (err error) {
	if e.path, err = Program(e.Program); err != nil {
		return fmt.Errorf("%w: %w", err, bench.ErrUnavailable)
	}
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if e.addr, err = BridgeAddr(e.env.Testnet); err != nil {
		return err
	}
	if e.image, err = e.env.Image.Root(ctx); err != nil {
		return err
	}
	for _, dir := range e.Hide {
		if err := Provide(&e.undo, e.env.Ledger, dir); err != nil {
			return err
		}
	}
	return nil
}

// Close removes what of the hidden directories was not there.
func (e *boxes) Close(ctx context.Context) error { return e.undo.Run(ctx) }

// Reads implements [bench.Reading].
func (e *boxes) Reads() []string { return []string{e.image} }

// Start runs one box.
func (e *boxes) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &box{id: l.ID, log: filepath.Join(l.Dir, "words"), addr: e.addr}
	err := ctx.Err()
	if err == nil {
		err = e.start(ctx, i, l)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

func (e *boxes) start(ctx context.Context, i *box, l bench.Launch) error {
	if len(l.CPUSet) == 0 || l.NetNS != "" {
		return fmt.Errorf("CPUs %v, network namespace %q: %w", l.CPUSet, l.NetNS, bench.ErrInvalid)
	}
	at := Site{Launch: l, Root: filepath.Join(l.Dir, "root"), Scratch: filepath.Join(l.Dir, "scratch"), Agent: e.env.AgentPath,
		V2: e.cgroups.Mode() == "v2"}
	// The caller removes the directory and what is in it.
	for _, dir := range []string{at.Root, at.Scratch, upper(l.Dir), work(l.Dir)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	var calls *net.UnixListener
	if e.Boots != nil && e.Boots(l) {
		at.Port = filepath.Join(l.Dir, "port")
		var err error
		if calls, err = e.service(at); err != nil {
			return err
		}
		i.undo.Add(func(context.Context) error { calls.Close(); return nil }) // or the call did
	}
	if err := e.confine(i, l); err != nil {
		return err
	}
	netns, err := e.connect(ctx, i, l)
	if err != nil {
		return err
	}
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, l.ID, i.end); err != nil {
		return err
	}
	args := e.Args(at)
	i.argv = append([]string{e.Program}, args...)
	cmd := exec.Command(e.path, args...)
	cmd.Env = []string{"PATH=" + SearchPath(""), bench.ProcessMark + "=" + l.ID}
	err = Apart(netns, func() (err error) {
		if err := e.surround(at); err != nil {
			return err
		}
		i.process, err = StartIn(ctx, i.group, e.env.AgentPath, cmd, i.log)
		return err
	})
	if err != nil {
		return err
	}
	i.stream = i.process.Stream()
	if calls != nil {
		go io.Copy(io.Discard, i.stream) // the console, which must not fill up
		i.stream = AwaitCall(calls, i.group, i.process.Done())
	}
	return nil
}

// service makes the agent a service and listens for its call.
func (e *boxes) service(at Site) (*net.UnixListener, error) {
	if err := Install(e.image, upper(at.Launch.Dir)); err != nil {
		return nil, err
	}
	if err := os.Mkdir(at.Port, 0o755); err != nil {
		return nil, err
	}
	return ListenToAll(at.Port)
}

// confine makes the box's control group.
func (e *boxes) confine(i *box, l bench.Launch) error {
	limits := cgroup.LimitsOf(l.Shape, l.CPUSet)
	var err error
	if limits.Disk, err = cgroup.DiskOf(l.Shape, l.Dir); err != nil {
		return err
	}
	i.group, i.unenforced, err = i.undo.Group(e.env.Ledger, e.cgroups, l.Group(e.env.Run), limits)
	i.unenforced = append(i.unenforced, bench.DiskSize)
	return err
}

// connect settles the box's address and returns the network namespace to start in.
func (e *boxes) connect(ctx context.Context, i *box, l bench.Launch) (netns string, err error) {
	switch l.Options[NetOption.Name] {
	case "veth":
		if i.port, err = e.env.Testnet.Plug(ctx); err != nil {
			return "", err
		}
		i.undo.Add(func(context.Context) error { return e.env.Testnet.Unplug(i.port) })
		i.addr = i.port.Lease.Addr.Addr()
		return i.port.NetNS, nil
	case "none":
		i.addr = netip.Addr{}
	}
	return e.env.Testnet.NetNS(), nil
}

// surround makes, on the thread apart that will start the program, all that is
// to vanish with it.
func (e *boxes) surround(at Site) error {
	if err := FreshSysfs(); err != nil {
		return err
	}
	for _, dir := range e.Hide {
		if err := Hide(dir); err != nil {
			return err
		}
	}
	if e.MapIDs != nil && e.MapIDs(at.Launch) {
		if err := MapIDs(e.image, upper(at.Launch.Dir), at.Scratch); err != nil {
			return err
		}
	}
	return Overlay(e.image, at.Launch.Dir, at.Root)
}

func upper(dir string) string { return filepath.Join(dir, "upper") }
func work(dir string) string  { return filepath.Join(dir, "work") }

// Overlay mounts the image under a layer in dir, which holds the empty
// directories upper and work, as the kernel's
// Documentation/filesystems/overlayfs.rst says. For use inside [Apart].
func Overlay(image, dir, at string) error {
	layers := "lowerdir=" + image + ",upperdir=" + upper(dir) + ",workdir=" + work(dir)
	if strings.ContainsAny(image+dir, `,:\`) {
		return fmt.Errorf("mount overlay: a comma, colon or backslash in %q: %w", layers, bench.ErrInvalid)
	}
	if err := unix.Mount("overlay", at, "overlay", 0, layers); err != nil {
		return fmt.Errorf("mount overlay (%s): %w", layers, err)
	}
	return nil
}

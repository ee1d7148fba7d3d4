package bench

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"time"
)

// Option is a variant switch of a platform.
type Option struct {
	Name    string   `json:"name"`
	Values  []string `json:"values"` // the allowed words, the default first
	Doc     string   `json:"doc"`
	Default string   `json:"default"`
}

// Availability is what Check found out about a platform on this host.
type Availability struct {
	// Version is that of the program Start would use.
	Version string
	// Label is worn by every figure of the platform: "" for one measured for
	// real, "emulated (tcg)" for one that is not.
	Label string
	// Programs are the versions of everything taking part, such as dockerd, containerd, runc.
	Programs map[string]string
	// Caveats are what else the driver knows to be unlike a plain measurement.
	Caveats []Caveat
	// Migrates is the way in which its instances are [Migratory]: [Live] or
	// [Checkpoint], "" for none.
	Migrates string
	// Unmoved, if not nil, is why they are not on this host, with a [Hint].
	Unmoved error
	// Beyond is what an instance takes of the host's memory and disk beside its
	// shape: of a nesting, the room its outer guests have for themselves.
	Beyond Room
	// Ungrouped: the memory of its instances is a hypervisor's, in no control group.
	Ungrouped bool
	// Untried: whether an instance starts here has not been tried since the host
	// booted; the next run that needs the platform does.
	Untried bool
	// Lacks are the variants that this host cannot run, though it can the platform.
	Lacks []Lack
}

// Room is an amount of memory and disk.
type Room struct{ Memory, Disk Bytes }

// Caveat is a property of a platform, or of a variant of it, that whoever reads
// its figures has to know, such as "O_DIRECT not honoured".
type Caveat struct {
	Text string
	// With are the options under which it holds; none: always.
	With map[string]string
}

// String says it with the options under which it holds.
func (c Caveat) String() string {
	if len(c.With) == 0 {
		return c.Text
	}
	return strings.Trim(PlatformRef{Options: c.With}.String(), "[]") + ": " + c.Text
}

// NoDirect begins the caveat of a platform that takes direct I/O and does it
// through the host's page cache all the same. The audit knows it by this.
const NoDirect = "O_DIRECT not honoured"

// CaveatsOf returns the texts that hold for the variant with the options,
// defaults filled in.
func (a Availability) CaveatsOf(options map[string]string) []string {
	var texts []string
	for _, c := range a.Caveats {
		if chosen(c.With, options) {
			texts = append(texts, c.Text)
		}
	}
	return texts
}

// A Platform is a way to run instances.
type Platform interface {
	// Name is the word used in specifications.
	Name() string
	// Summary is one line for people.
	Summary() string
	Options() []Option
	// Check reports whether the host can run the platform, and which of its
	// variants it cannot; it changes nothing and is quick. If the host can run
	// none, the error wraps ErrUnavailable with the reason and carries a Hint. No
	// version, no measurement.
	Check(ctx context.Context) (Availability, error)
	// Open makes ready what all instances of a run share (a daemon, an
	// imported image). When it fails it leaves nothing behind.
	Open(ctx context.Context, e Env) (Engine, error)
}

// An Engine starts instances of one platform during one run. Start may be
// called from several goroutines.
type Engine interface {
	// Start issues the platform's start command and returns the instance, whose
	// agent will greet on its stream once it is up. When it fails it leaves
	// nothing behind.
	Start(ctx context.Context, l Launch) (Instance, error)
	// Close stops what Open started, once, after every instance is closed.
	Close(ctx context.Context) error
}

// Reading is an engine that says which files and directories of the host a
// launch reads from the disk, besides its programs: the image in the form that the
// platform takes it in.
type Reading interface{ Reads() []string }

// Importing is an engine whose platform keeps the image in a store of its own,
// and says how long it took to get there, 0 if it was there before.
type Importing interface{ Imported() time.Duration }

// Env is what a run lends its platforms. Everything made on the host is
// registered in the ledger first.
type Env struct {
	Run    string // the run's id, [a-z0-9-]+, unique on the host
	Image  Image
	Lab    Lab
	Ledger Ledger
	// Dir is a directory of the run on the disk under test, for platform-wide files.
	Dir string
	// AgentPath is the static agent binary on the host.
	AgentPath string
	// Slow is how many times longer than on an ordinary host things may take
	// here; 0 is 1. An emulated guest that is a nesting's host says 10.
	Slow float64
}

// Patience stretches a deadline for a slow host.
func (e Env) Patience(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, e.Slow))
}

// Image is the golden image in the form each platform takes. A form is built
// on first use; the bytes inside are the same in each.
type Image interface {
	// Digest identifies recipe and content, "sha256:...".
	Digest() string
	// Root returns the root file system as a directory, to be treated as read-only.
	Root(ctx context.Context) (string, error)
	// Tar returns the root file system as an uncompressed tar archive.
	Tar(ctx context.Context) (string, error)
	// Disk returns it as a raw ext4 image, to be treated as read-only.
	Disk(ctx context.Context) (string, error)
	// Kernel returns the guest kernel image and the directory of its modules (lib/modules/VERSION).
	Kernel(ctx context.Context) (kernel, modules string, err error)
}

// Lab is the run's own network: a network namespace with a bridge, in which
// every platform's daemons, monitors and instances live, so that the host's
// own network is never touched. See package lab.
type Lab interface {
	// NetNS is the path of the lab's network namespace.
	NetNS() string
	// Do runs f on a thread that is inside the lab's network namespace; a
	// process f starts is born in it.
	Do(f func() error) error
	// Bridge is the name of the bridge inside the lab.
	Bridge() string
	// Allocate reserves an address on the bridge for an instance.
	Allocate() (Lease, error)
	// Plug makes a network namespace whose eth0 is on the bridge.
	Plug(ctx context.Context) (Port, error)
	// Unplug removes its device and its path.
	Unplug(p Port) error
	// Tap creates a tap device on the bridge.
	Tap(name string) error
	// RemoveTap deletes it.
	RemoveTap(name string) error
	// Settle lets packets be routed between the bridge and the peers whatever
	// the policy of the namespace's FORWARD chain. A platform whose daemon sets
	// that policy to DROP, as dockerd does, calls it once the daemon is up.
	Settle(ctx context.Context) error
}

// Lease is an address on the lab's bridge.
type Lease struct {
	Addr    netip.Prefix // address with the prefix length of the bridge's network
	Gateway netip.Addr   // the bridge's own address
	MAC     string       // a locally administered address, unique in the lab
}

// Port is a network namespace with an address on the lab's bridge.
type Port struct {
	NetNS  string // its path
	Device string // the host end of its cable, in the lab
	Lease  Lease
}

// Ledger remembers what was made on the host, so that a run killed at any
// moment can be cleaned up by the next. See package ledger.
type Ledger interface {
	// Register records, durably, that the thing is about to be made.
	Register(kind, name string) error
	// Release records that the thing is gone.
	Release(kind, name string) error
}

// The kinds of things a ledger knows how to remove.
const (
	KindProcess = "process" // every process whose environment has TARE_ID=name
	KindCgroup  = "cgroup"  // the cgroup directory, in every hierarchy, with all processes inside
	KindNetNS   = "netns"   // a network namespace bound at the path
	KindMount   = "mount"   // a mount point
	KindDir     = "dir"     // a directory tree
	KindLoop    = "loop"    // the loop devices backed by the file
	KindTap     = "tap"     // a network device in the host's own namespace
	KindDomain  = "domain"  // the Xen domain of that name
	KindSwap    = "swap"    // the file, in use as swap space
	KindMapped  = "mapped"  // the device of that name made by the kernel's device mapper
	KindNote    = "note"    // the file [CRIUNote]
	KindPlace   = "place"   // an empty directory, one of [Places]
)

// Places are the directories of the host that programs of platforms insist on, and
// that are made for a run where no service has made them at boot. They stay empty: what
// programs put there they put into something mounted over it.
var Places = []string{"/etc/docker", "/opt/containerd", "/run/containerd", "/run/crun", "/run/docker", "/run/libvirt", "/run/lxc", "/run/systemd"}

// CRIUNote is where CRIU notes what it found of the kernel; no option of its
// changes that. One that was there before is not ours.
const CRIUNote = "/run/criu.kdat"

// ProcessMark is the environment variable by which a process of ours is
// recognised: TARE_ID=name, inherited by its children.
const ProcessMark = "TARE_ID"

// CgroupRoot is the cgroup, relative to each hierarchy's mount point, under
// which Tare makes every cgroup of its own.
const CgroupRoot = "tare"

// RuntimeDir holds what does not outlive a boot: the bound network namespaces
// and short-lived sockets of each run, in a directory named by the run.
const RuntimeDir = "/run/tare"

// StateDir is the default state directory: the ledger and the runs' own files.
const StateDir = "/var/lib/tare"

// Launch asks for one instance.
type Launch struct {
	// ID names everything made for the instance: [a-z0-9-]+, at most 40 bytes, unique on the host.
	ID      string
	Shape   Shape
	CPUSet  []int             // the host CPUs it may use; never empty
	Options map[string]string // every option of the platform, defaults filled in
	// Dir is an existing empty directory for the instance on the disk under
	// test; the caller removes it after Close.
	Dir string
	// Cage, if not empty, names the outer cage or the scene's pool of memory, a
	// control group of the run in which the instance's own is made; see [Launch.Group].
	Cage string
	// NetNS, if not empty, is a network namespace to run in instead of the
	// lab's (a peer's). Only native knows it.
	NetNS string
	// Host asks for an instance that another platform's instance will run in.
	// Only virtual machines know it.
	Host *Hosting
}

// Group is the control group of the instance, relative to [CgroupRoot]: every
// process that does its work belongs there or below.
func (l Launch) Group(run string) string {
	if l.Cage != "" {
		return run + "/" + l.Cage + "/" + l.ID
	}
	return run + "/" + l.ID
}

// Hosting is what the outer instance of a nesting has beyond an ordinary one.
type Hosting struct {
	// Disks are files with raw images of further disks, read-only.
	Disks []string
	// Ports are the names of further byte streams to the guest; see [Ported].
	Ports []string
	// Virtualization: the guest must be able to run virtual machines itself.
	Virtualization bool
	// Hypervisor, if not empty, is the file of a hypervisor (Xen, as an ELF
	// image) that boots first; the guest becomes its control domain, with so
	// much of the machine's memory.
	Hypervisor string
	Control    Bytes
}

// Ported is an instance with further byte streams, those its [Hosting] named.
type Ported interface {
	// Port is the host's end of the stream; open when Start returns.
	Port(name string) (io.ReadWriteCloser, error)
}

// Ballooned is an instance that can be asked, while it runs, to make do with less memory.
type Ballooned interface {
	// Balloon asks for it and returns once the guest's memory has settled; ok is
	// false, and nothing has happened, if the instance has no balloon.
	Balloon(ctx context.Context, to Bytes) (b Balloon, ok bool, err error)
}

// Described is an instance of which its driver knows facts that the agent
// inside cannot see.
type Described interface{ Facts() map[string]string }

// Cautioned is an instance of which more is known, once it is started, than what
// the platform's check could tell: of a nested one, what the inner platform says
// of itself in the outer guest.
type Cautioned interface {
	// Cautions are a further label, "" for none, and further caveats.
	Cautions() (label string, caveats []string)
}

// Printing is an instance whose platform's programs, or whose guest, print into pipes
// that are read at a bounded pace.
type Printing interface {
	// HeldUp reports whether one of them has so far printed as fast as is read at most.
	HeldUp() bool
}

// Metered is an instance whose cost is partly paid where the host's own meters
// do not reach: of a nested one, in the outer guest.
type Metered interface {
	// Readers opens the meters there, once the agent has greeted. Each asks a
	// guest, so it must be read beside the host's, never before them.
	Readers(ctx context.Context) ([]Reader, error)
}

// Instance is a started platform.
type Instance interface {
	// Stream is the byte stream to the agent inside. It is open when Start returns.
	Stream() io.ReadWriteCloser
	// Launched is when the platform's own start command was issued, in
	// nanoseconds of the host's CLOCK_MONOTONIC: what the driver prepares
	// beforehand does not count as start-up.
	Launched() int64
	// Command is the platform's own start command, as one could type it.
	Command() []string
	// Scope says where on the host the instance's cost is paid. It is complete
	// once the agent has greeted; asking again may find more.
	Scope() (Scope, error)
	// Addr is the instance's network address as seen from the lab.
	Addr() netip.Addr
	// Log returns the last of what the platform printed about this instance,
	// for the record of a failure.
	Log() string
	// Unenforced lists what of the shape the platform could not enforce.
	Unenforced() []string
	// Close ends the instance and removes what Start made; once, also after failure.
	Close(ctx context.Context) error
}

// Scope says where on the host the cost of an instance is paid.
type Scope struct {
	// OwnKernel: the instance has a kernel of its own, so its agent sees the
	// guest's /proc and the layer is what the host spends beyond it.
	OwnKernel bool `json:"own_kernel"`
	// Cgroups are the directories that account for the instance, by
	// controller: "cpu", "cpuacct", "memory", "blkio", "pids" on v1, or
	// "unified" for a v2 group.
	Cgroups map[string]string `json:"cgroups,omitempty"`
	// Helpers serve this instance alone from outside its cgroup: shim, monitor, VMM.
	Helpers []Process `json:"helpers,omitempty"`
	// Shared serve all instances of the platform: daemons.
	Shared []Process `json:"shared,omitempty"`
	// NetDevs are the host ends of its network, in the lab's namespace.
	NetDevs []string `json:"net_devs,omitempty"`
	// NetNS is the instance's own network namespace if it has one reachable as a path.
	NetNS string `json:"netns,omitempty"`
	// Domain is the instance's number as a Xen domain, 0 for none. Its CPU time
	// and that of the control domain are the hypervisor's to tell.
	Domain int `json:"domain,omitempty"`
	// Inner is a nested instance's scope inside the outer guest, whose paths and
	// process ids are that guest's; the rest is then the outer instance's on the host.
	// It has an Inner itself if the nesting is three deep.
	Inner *Scope `json:"inner,omitempty"`
}

// Innermost is the scope of the instance itself: of a nesting that in the guest
// it was started in.
func (s *Scope) Innermost() *Scope {
	for s.Inner != nil {
		s = s.Inner
	}
	return s
}

// Process is a process on the host with the part it plays: "shim", "monitor",
// "daemon", "containerd", "vmm", "runtime", "sandbox", "gofer",
// "kernel" (a user-mode one, whose programs are processes of the host too).
type Process struct {
	PID  int    `json:"pid"`
	Part string `json:"part"`
	// Inside: it is in one of the scope's cgroups, whose figures count it too.
	Inside bool `json:"inside,omitempty"`
}

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
	// Path: the value is the path of a file of the host, a program that root runs or a kernel that
	// a guest boots, or "" for the platform's own. It is absolute once a specification has been read.
	Path bool `json:"path,omitempty"`
	// Asked are the arguments that make that program print its version; nil is --version.
	Asked []string `json:"-"`
}

// Availability is what Check found about a platform on this host.
type Availability struct {
	// Version is the version of the program that Start would use.
	Version string
	// Label marks every figure of the platform: "" for a real platform, "emulated (tcg)" for an
	// emulated one.
	Label string
	// Programs maps each program involved, such as dockerd, containerd and runc, to its version.
	Programs map[string]string
	// Caveats are other deviations from a plain measurement that the driver knows.
	Caveats []Caveat
	// Migrates says how its instances are [Migratory]: [Live] or [Checkpoint], "" for not at all.
	Migrates string
	// Unmoved, if not nil, is why they cannot move on this host, with a [Hint].
	Unmoved error
	// Beyond is what an instance takes of the host's memory and disk beyond its shape. For a
	// nesting it is what the outer guests have for themselves.
	Beyond Room
	// Ungrouped: a hypervisor holds the memory of its instances, so no control group counts it.
	Ungrouped bool
	// Unfrozen are the variants whose instances do not go on after they were frozen.
	Unfrozen []Lack
	// Unreached, if not nil, is why nothing in the run's own network reaches its instances, nor they it.
	Unreached error
	// Untried: no instance has been started here for a try since the host booted. The next run that
	// needs the platform tries it.
	Untried bool
	// Lacks are the variants of an available platform that this host cannot run.
	Lacks []Lack
}

// ProgramFile is the file of a program of the host.
type ProgramFile struct {
	Name   string `json:"name"`   // as the platform calls it
	Path   string `json:"path"`   // after symbolic links
	Digest string `json:"digest"` // of its content, "sha256:..."
	Size   Bytes  `json:"size"`
}

// String returns path and digest, the latter as short as one writes it.
func (f ProgramFile) String() string { return f.Path + " " + short(f.Digest) }

// short is a digest as short as one writes it.
func short(digest string) string {
	const digits = len("sha256:") + 12
	return digest[:min(len(digest), digits)]
}

// Room is an amount of memory and disk.
type Room struct{ Memory, Disk Bytes }

// Caveat is a property of a platform or a variant that readers of its figures must know, such as
// "O_DIRECT not honoured".
type Caveat struct {
	Text string
	// With are the options under which it holds. If empty, it always holds.
	With map[string]string
}

// String returns the caveat with the options under which it holds.
func (c Caveat) String() string {
	if len(c.With) == 0 {
		return c.Text
	}
	return strings.Trim(PlatformRef{Options: c.With}.String(), "[]") + ": " + c.Text
}

// NoDirect begins the caveat of a platform that accepts direct I/O but uses the host's page cache
// anyway. The audit recognises the caveat by this text.
const NoDirect = "O_DIRECT not honoured"

// CaveatsOf returns the caveats' texts for the variant with the options, defaults filled in.
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
	// Traits are the same on every host; asking for them is quick.
	Traits() Traits
	// Check reports whether the host can run the platform, and which variants it cannot run. It
	// changes nothing and is quick. If the host can run none, the error wraps ErrUnavailable with
	// the reason and carries a Hint. A platform without a version is not measured.
	Check(ctx context.Context) (Availability, error)
	// Open prepares what all instances of a run share (a daemon, an imported image). If it fails it
	// leaves nothing behind.
	Open(ctx context.Context, e Env) (Engine, error)
}

// An Engine starts instances of one platform during one run. Start may be
// called from several goroutines.
type Engine interface {
	// Start issues the platform's start command and returns the instance. The agent inside greets
	// on the stream once it is up. If Start fails it leaves nothing behind.
	Start(ctx context.Context, l Launch) (Instance, error)
	// Close stops what Open started, once, after every instance is closed.
	Close(ctx context.Context) error
}

// Reading is an engine that lists the host files and directories that a launch reads from the disk,
// besides its programs: the image in the platform's form.
type Reading interface{ Reads() []string }

// Importing is an engine whose platform keeps the image in its own store. Imported returns how long
// the import took, 0 if the image was already there.
type Importing interface{ Imported() time.Duration }

// Env is what a run provides to its platforms. Everything made on the host is registered in the
// ledger first.
type Env struct {
	Run     string // the run's id, [a-z0-9-]+, unique on the host
	Image   Image
	Testnet Testnet
	Ledger  Ledger
	// Dir is a directory of the run on the disk under test, for platform-wide files.
	Dir string
	// Programs are the paths of the programs that the run's launches choose for this platform.
	Programs []string
	// AgentPath is the static agent binary on the host.
	AgentPath string
	// Slow is how many times longer operations may take here than on an ordinary host. 0 means 1.
	// An emulated guest that hosts a nesting uses 10.
	Slow float64
}

// Patience returns the deadline multiplied by Slow.
func (e Env) Patience(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, e.Slow))
}

// Image is the golden image in the form each platform takes. A form is built on first use. The
// content is the same in each.
type Image interface {
	// Digest returns an identifier of recipe and content, "sha256:...".
	Digest() string
	// Root returns the root file system as a directory, to be treated as read-only.
	Root(ctx context.Context) (string, error)
	// Tar returns the root file system as an uncompressed tar archive.
	Tar(ctx context.Context) (string, error)
	// Disk returns the root file system as a raw ext4 image, to be treated as read-only.
	Disk(ctx context.Context) (string, error)
	// Kernel returns the guest kernel image and the directory of its modules (lib/modules/VERSION).
	Kernel(ctx context.Context) (kernel, modules string, err error)
}

// Testnet is the run's own network: a network namespace with a bridge, in which
// every platform's daemons, monitors and instances live, so that the host's
// own network is never touched. See package testnet.
type Testnet interface {
	// NetNS returns the path of the test network's network namespace.
	NetNS() string
	// Do runs f on a thread inside the test network's network namespace. Processes that f starts
	// are in it too.
	Do(f func() error) error
	// Bridge returns the name of the bridge inside the test network.
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
	// Settle lets packets pass between the bridge and the peers under any policy of the namespace's
	// FORWARD chain. A platform whose daemon sets that policy to DROP, as dockerd does, calls it
	// once the daemon is up.
	Settle(ctx context.Context) error
}

// Lease is an address on the test network's bridge.
type Lease struct {
	Addr    netip.Prefix // address with the prefix length of the bridge's network
	Gateway netip.Addr   // the bridge's own address
	MAC     string       // a locally administered address, unique in the test network
}

// Port is a network namespace with an address on the test network's bridge.
type Port struct {
	NetNS  string // its path
	Device string // the host end of its cable, in the test network
	Lease  Lease
}

// Ledger records what was made on the host, so that the next run can clean up after a killed one.
// See package ledger.
type Ledger interface {
	// Register records durably that the thing is about to be made.
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
	KindPod     = "kubepod" // a pod of a Kubernetes cluster; see package kube
	KindJob     = "kubejob" // a job of a Kubernetes cluster, with its run's pods; see package kube
	KindPlace   = "place"   // an empty directory, one of [Places]
	KindRemote  = "remote"  // a directory on a further host, with what runs of it; see package ssh
)

// Places are directories of the host that platforms' programs require. A run makes those that no
// service has made at boot. They stay empty, because the programs write to a file system mounted
// over them.
var Places = []string{"/etc/docker", "/opt/containerd", "/run/containerd", "/run/crun", "/run/docker", "/run/libvirt", "/run/lxc", "/run/systemd"}

// CRIUNote is the file where CRIU caches the kernel's features. CRIU has no option to change the
// path. A file that existed before the run is not ours.
const CRIUNote = "/run/criu.kdat"

// ProcessMark is the environment variable that identifies our processes: TARE_ID=name, inherited by
// their children.
const ProcessMark = "TARE_ID"

// CgroupRoot is the parent of all of Tare's cgroups, relative to each hierarchy's mount point.
const CgroupRoot = "tare"

// RuntimeDir holds what does not outlive a boot: each run's bound network namespaces and
// short-lived sockets, in a directory named after the run.
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
	// Dir is an existing empty directory for the instance on the disk under test. The caller
	// removes it after Close.
	Dir string
	// Containment, if not empty, names the containment or the scene's pool of memory. It is a
	// control group of the run, and the instance's own group is made inside it; see [Launch.Group].
	Containment string
	// NetNS, if not empty, is a network namespace to run in instead of the test network's (a
	// peer's). Only native supports it.
	NetNS string
	// Publish is the TCP port on which the instance's program will serve, for a platform with
	// [PublishOption]; 0 for none. [Instance.Addr] is then where that port is published, as the same.
	Publish int
	// Own is what a machine without an agent boots; nil for all others. Nothing is read from the
	// stream of its instance: it ends with an error when the machine has ended, or cannot go on.
	Own *OwnKernel
	// Host asks for an instance in which another platform's instance will run. Only virtual
	// machines support it.
	Host *Hosting
}

// Group returns the control group of the instance, relative to [CgroupRoot]. Every process that
// does its work belongs there or below.
func (l Launch) Group(run string) string {
	if l.Containment != "" {
		return run + "/" + l.Containment + "/" + l.ID
	}
	return run + "/" + l.ID
}

// Hosting is what the outer instance of a nesting has in addition to an ordinary one.
type Hosting struct {
	// Disks are raw image files of further disks, read-only.
	Disks []string
	// Ports are the names of further byte streams to the guest; see [Ported].
	Ports []string
	// Virtualization says that the guest must be able to run virtual machines itself.
	Virtualization bool
	// Hypervisor, if not empty, is the file of a hypervisor (Xen, as an ELF image) that boots
	// first. The guest becomes its control domain and gets Control bytes of the machine's memory.
	Hypervisor string
	Control    Bytes
}

// Ported is an instance with the further byte streams that its [Hosting] names.
type Ported interface {
	// Port returns the host's end of the stream. It is open when Start returns.
	Port(name string) (io.ReadWriteCloser, error)
}

// Ballooned is an instance that can shrink its memory while it runs.
type Ballooned interface {
	// Balloon asks the guest to shrink and returns once its memory has settled. If the instance has
	// no balloon, it does nothing and ok is false.
	Balloon(ctx context.Context, to Bytes) (b Balloon, ok bool, err error)
}

// Described is an instance whose driver knows facts that the agent inside cannot see.
type Described interface{ Facts() map[string]string }

// Choosing is a platform of whose program another build may be chosen, by [ProgramOption].
type Choosing interface {
	// Chosen returns the platform where its own build cannot be used, for the reason own: only the
	// variants that choose another are available. Its check runs no program. It is nil for one
	// of whose program none may be chosen.
	Chosen(own error) Platform
}

// Cautioned is an instance with a label and caveats that are known only once it has started. In a
// nesting they are those of the inner platform, checked in the outer guest.
type Cautioned interface {
	// Cautions returns a further label, "" for none, and further caveats.
	Cautions() (label string, caveats []string)
}

// Printing is an instance whose guest or platform programs print into pipes that are read at a
// bounded rate.
type Printing interface {
	// HeldUp reports whether one of them has reached that rate so far.
	HeldUp() bool
}

// Metered is an instance with costs that the host's meters cannot read. For a nested instance these
// are paid in the outer guest.
type Metered interface {
	// Readers opens the meters there, once the agent has greeted. Each asks a guest, so it must be
	// read concurrently with the host's meters, never before them.
	Readers(ctx context.Context) ([]Reader, error)
}

// Instance is a started platform.
type Instance interface {
	// Stream returns the byte stream to the agent inside. It is open when Start returns.
	Stream() io.ReadWriteCloser
	// Launched returns when the platform's own start command was issued, in nanoseconds of the
	// host's CLOCK_MONOTONIC. The driver's preparations before it do not count as start-up.
	Launched() int64
	// Command returns the platform's own start command, as a user could type it.
	Command() []string
	// Scope returns where on the host the instance's cost is paid. It is complete once the agent
	// has greeted. A later call may find more.
	Scope() (Scope, error)
	// Addr returns the instance's network address as seen from the test network.
	Addr() netip.Addr
	// Log returns the end of the platform's output about this instance, for the record of a
	// failure.
	Log() string
	// Unenforced lists the limits of the shape that the platform could not enforce, such as
	// [DiskSize].
	Unenforced() []string
	// Close ends the instance and removes what Start made. It is called once, also after a failure.
	Close(ctx context.Context) error
}

// Scope says where on the host the cost of an instance is paid.
type Scope struct {
	// OwnKernel: the instance has its own kernel. Its agent sees the guest's /proc, and the layer
	// is what the host spends in addition.
	OwnKernel bool `json:"own_kernel"`
	// Cgroups are the directories that account for the instance, by
	// controller: "cpu", "cpuacct", "memory", "blkio", "pids" on v1, or
	// "unified" for a v2 group.
	Cgroups map[string]string `json:"cgroups,omitempty"`
	// Helpers are processes outside the cgroup that serve only this instance: shim, monitor, VMM.
	Helpers []Process `json:"helpers,omitempty"`
	// Shared are processes that serve all instances of the platform: daemons.
	Shared []Process `json:"shared,omitempty"`
	// NetDevs are the host ends of its network, in the test network's namespace.
	NetDevs []string `json:"net_devs,omitempty"`
	// NetNS is the instance's own network namespace if it has one reachable as a path.
	NetNS string `json:"netns,omitempty"`
	// Domain is the instance's Xen domain number, 0 for none. Only the hypervisor knows its CPU
	// time and that of the control domain.
	Domain int `json:"domain,omitempty"`
	// Inner is a nested instance's scope inside the outer guest, with that guest's paths and
	// process ids. The other fields then describe the outer instance on the host. Inner has an
	// Inner itself in a nesting of three.
	Inner *Scope `json:"inner,omitempty"`
}

// Innermost returns the scope of the instance itself. For a nesting this is the one in the guest
// where it was started.
func (s *Scope) Innermost() *Scope {
	for s.Inner != nil {
		s = s.Inner
	}
	return s
}

// Process is a process on the host with its part: "shim", "monitor", "daemon", "containerd", "vmm",
// "runtime", "sandbox", "gofer", "kernel" (a user-mode kernel, whose programs are host processes
// too).
type Process struct {
	PID  int    `json:"pid"`
	Part string `json:"part"`
	// Inside: the process is in one of the scope's cgroups, so their figures include it.
	Inside bool `json:"inside,omitempty"`
	// Threads, of a "vmm", are the names by which its threads are told apart.
	Threads *Threads `json:"-"`
}

// Package host reads the facts of this machine that affect measurements: its processors, kernel,
// cgroups, memory policy and missing features.
package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"tare/internal/bench"
)

// Facts is the fingerprint of a host, stored with every run.
type Facts struct {
	Hostname string `json:"hostname"`
	// MachineID identifies one installed system; empty if it has no id. It is a hash of
	// /etc/machine-id and does not reveal that.
	MachineID string `json:"machine_id,omitempty"`
	OS        string `json:"os"` // PRETTY_NAME of os-release
	Kernel    string `json:"kernel"`
	Arch      string `json:"arch"`
	CPUModel  string `json:"cpu_model"`
	CPUs      int    `json:"cpus"`        // online
	Usable    []int  `json:"usable_cpus"` // those this process may run on
	// Isolated are the CPUs excluded from scheduling (isolcpus).
	Isolated  []int `json:"isolated_cpus,omitempty"`
	Cores     int   `json:"cores"` // physical, as reported to the kernel
	Sockets   int   `json:"sockets"`
	NUMANodes int   `json:"numa_nodes"`
	// NodeCPUs are the usable CPUs of each NUMA node that has any; none where the kernel tells of no nodes.
	NodeCPUs [][]int `json:"node_cpus,omitempty"`
	// AlikeCores are groups of usable cores of one kind that share a last-level cache and a NUMA
	// node; a core is the list of its usable CPUs.
	AlikeCores [][][]int              `json:"alike_cores,omitempty"`
	SMT        string                 `json:"smt"`    // "on", "off", "not supported"
	Caches     map[string]bench.Bytes `json:"caches"` // "L1d", "L2", "L3" of CPU 0
	// LLC is the size of one last-level cache, and LLCGroups are the CPUs that
	// share each; see [Facts.LLCOf].
	LLC         bench.Bytes       `json:"llc"`
	LLCGroups   [][]int           `json:"llc_groups"`
	Memory      bench.Bytes       `json:"memory"`
	Swap        bench.Bytes       `json:"swap"`
	Hypervisor  string            `json:"hypervisor"`        // "none" on bare metal
	Product     string            `json:"product,omitempty"` // the machine's maker and model, if known
	Container   bool              `json:"container"`         // in a PID namespace of its own
	Cgroup      string            `json:"cgroup"`            // "v1", "v2", "hybrid"
	Controllers []string          `json:"controllers"`
	Governor    string            `json:"governor"` // "not exposed" if the guest cannot see it
	Turbo       string            `json:"turbo"`
	THP         string            `json:"thp"`
	KSM         string            `json:"ksm"`
	ASLR        string            `json:"aslr,omitempty"` // address space layout: "random", "random but for the heap", "fixed"
	ClockSource string            `json:"clock_source"`
	Mitigations map[string]string `json:"mitigations"`
	Filesystem  string            `json:"filesystem"`     // type and device under the state directory
	Disk        string            `json:"disk,omitempty"` // kind and I/O scheduler of that device
	DiskFree    bench.Bytes       `json:"disk_free"`
	MissingCaps []string          `json:"missing_capabilities,omitempty"`
	NoFile      uint64            `json:"nofile_limit"` // hard
	PSI         bool              `json:"psi"`
	BootID      string            `json:"boot_id"`
	Root        bool              `json:"root"`
	// Unread lists the facts whose source could not be parsed, with the reason.
	Unread []string `json:"unread,omitempty"`
	// Caveats are facts that limit what can be concluded here, for people.
	Caveats []string `json:"caveats,omitempty"`
}

// Words for facts that the kernel does not report.
const (
	notExposed = "not exposed"
	unknown    = "unknown"
)

// Read reads the facts of the host whose file system is at root ("/" except in tests), and of the
// file system of stateDir, a path on the host that need not exist. It changes nothing. A source
// that cannot be parsed is listed in Unread and gives a caveat. Only a host without /proc is an
// error.
func Read(root, stateDir string) (*Facts, error) {
	t := tree(root)
	if _, err := os.Stat(t.path("/proc/self/status")); err != nil {
		return nil, fmt.Errorf("read host: %w", err)
	}
	f := &Facts{Arch: runtime.GOARCH}
	for _, read := range []func(tree, *Facts) error{
		readSystem, readMachineID, readProcessors, readCaches, readAlike, readFrequency, readMitigations,
		readMemory, readHypervisor, readCgroups, readProcess,
		func(t tree, f *Facts) error { return readFilesystem(t, f, stateDir) },
	} {
		for _, err := range split(read(t, f)) {
			f.Unread = append(f.Unread, err.Error())
		}
	}
	for _, l := range f.Lines() {
		if l.Caveat != "" {
			f.Caveats = append(f.Caveats, l.Caveat)
		}
	}
	return f, nil
}

// split returns the errors joined by errors.Join.
func split(err error) []error {
	if err == nil {
		return nil
	}
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return many.Unwrap()
	}
	return []error{err}
}

func readSystem(t tree, f *Facts) error {
	f.Hostname = t.word("/proc/sys/kernel/hostname", unknown)
	f.Kernel = t.word("/proc/sys/kernel/osrelease", unknown)
	f.BootID = t.word("/proc/sys/kernel/random/boot_id", unknown)
	f.ClockSource = t.word("/sys/devices/system/clocksource/clocksource0/current_clocksource", notExposed)
	f.OS = unknown
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if name, ok := t.fields(path, "=")["PRETTY_NAME"]; ok {
			f.OS = unquote(name)
			break
		}
	}
	// Reading fails where the kernel has pressure stall information but was
	// told not to collect it.
	_, err := os.ReadFile(t.path("/proc/pressure/cpu"))
	f.PSI = err == nil
	return nil
}

// Package host reads what about this machine matters to a measurement: its
// processors, kernel, cgroups, memory policy and what is missing.
package host

import "tare/internal/bench"

// Facts is the fingerprint of a host, stored with every run.
type Facts struct {
	Hostname    string                 `json:"hostname"`
	OS          string                 `json:"os"` // PRETTY_NAME of os-release
	Kernel      string                 `json:"kernel"`
	Arch        string                 `json:"arch"`
	CPUModel    string                 `json:"cpu_model"`
	CPUs        int                    `json:"cpus"`        // online
	Usable      []int                  `json:"usable_cpus"` // that this process may run on
	Sockets     int                    `json:"sockets"`
	NUMANodes   int                    `json:"numa_nodes"`
	SMT         string                 `json:"smt"`    // "on", "off", "not supported"
	Caches      map[string]bench.Bytes `json:"caches"` // "L1d", "L2", "L3" of CPU 0
	LLC         bench.Bytes            `json:"llc"`
	Memory      bench.Bytes            `json:"memory"`
	Swap        bench.Bytes            `json:"swap"`
	Hypervisor  string                 `json:"hypervisor"` // "none" on bare metal
	Cgroup      string                 `json:"cgroup"`     // "v1", "v2", "hybrid"
	Controllers []string               `json:"controllers"`
	Governor    string                 `json:"governor"` // "not exposed" where the guest can't see it
	Turbo       string                 `json:"turbo"`
	THP         string                 `json:"thp"`
	KSM         string                 `json:"ksm"`
	ClockSource string                 `json:"clock_source"`
	Mitigations map[string]string      `json:"mitigations"`
	Filesystem  string                 `json:"filesystem"` // type and device under the state directory
	DiskFree    bench.Bytes            `json:"disk_free"`
	MissingCaps []string               `json:"missing_capabilities,omitempty"`
	NoFile      uint64                 `json:"nofile_limit"` // hard
	PSI         bool                   `json:"psi"`
	BootID      string                 `json:"boot_id"`
	Root        bool                   `json:"root"`
	// Caveats are facts that limit what can be concluded here, for people.
	Caveats []string `json:"caveats,omitempty"`
}

package result

import (
	"slices"

	"tare/internal/bench"
)

// Usage is where the resources of one platform's trials went, averaged over
// the measured windows of its launches.
type Usage struct {
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// CPU in cores busy: inside the guest, in the layer that serves it, and on the rest of the host.
	GuestCPU float64 `json:"guest_cpu"`
	LayerCPU float64 `json:"layer_cpu"`
	RestCPU  float64 `json:"rest_cpu"`
	// RestParts splits RestCPU: "observer" is Tare itself, "other tasks"
	// everything else that is scheduled, kernel threads among it, and "irq" and
	// "softirq" interrupts, where the kernel keeps them out of tasks' time.
	// "interrupts on idle CPUs" are those that are in no task's time, where they
	// could be measured by themselves.
	RestParts map[string]float64 `json:"rest_parts,omitempty"`
	// BusyCPU is the host's own counter, and Unattributed what of it is in
	// neither guest, layer, others nor rest; below 0 if they exceed it.
	BusyCPU      float64 `json:"busy_cpu"`
	Unattributed float64 `json:"unattributed_cpu"`
	// UnattributedShare is Unattributed by BusyCPU, nil if either is not known.
	UnattributedShare *float64 `json:"unattributed_share,omitempty"`
	// SoftIRQ is the host's time in soft interrupts. It is contained in the
	// above: in RestParts, or else with the tasks they interrupt.
	SoftIRQ float64 `json:"softirq_cpu"`
	// StealCPU in cores: taken by the hypervisor this host itself runs under.
	StealCPU float64 `json:"steal_cpu"`
	// Others is the CPU in cores of actors that are not subjects, their layers
	// included, by role: "peer", "neighbour", "idle". It is in none of the above.
	Others map[bench.Role]float64 `json:"others_cpu,omitempty"`
	// Absent names the JSON fields of this row that could not be measured; their
	// zero says nothing. Notes say why.
	Absent []string `json:"absent,omitempty"`
	// Parts splits LayerCPU: "shim", "daemon", "vcpu", ...
	Parts map[string]float64 `json:"parts,omitempty"`
	// IdleDaemons is what of the daemons' CPU they would have used for nobody,
	// as measured while other platforms ran. It is in RestCPU, not in LayerCPU.
	IdleDaemons map[string]float64 `json:"idle_daemons_cpu,omitempty"`
	// Memory in bytes, at the last reading within the window: at its closing edge
	// the program may have given its own back.
	GuestMem float64 `json:"guest_mem_bytes"`
	LayerMem float64 `json:"layer_mem_bytes"`
	RestMem  float64 `json:"rest_mem_bytes"` // in use on the host and in no instance or layer
	// Moves is the memory that a migration of the subjects would have to move, in
	// bytes at its most in the window, and Given what they are given: a
	// container's limit, a virtual machine's size.
	Moves float64 `json:"migrate_bytes"`
	Given float64 `json:"memory_given_bytes"`
	// Disk traffic of the host in bytes per second, of it the subjects', what the
	// processes of the layer cause beyond that, and what is left.
	DiskRead       float64 `json:"disk_read_bytes_per_s"`
	DiskWrite      float64 `json:"disk_write_bytes_per_s"`
	GuestDiskRead  float64 `json:"guest_disk_read_bytes_per_s"`
	GuestDiskWrite float64 `json:"guest_disk_write_bytes_per_s"`
	LayerDiskRead  float64 `json:"layer_disk_read_bytes_per_s"`
	LayerDiskWrite float64 `json:"layer_disk_write_bytes_per_s"`
	RestDiskRead   float64 `json:"rest_disk_read_bytes_per_s"`
	RestDiskWrite  float64 `json:"rest_disk_write_bytes_per_s"`
	// Network traffic of the subjects, in bytes per second. It is in the lab's
	// namespace; that of the rest is of the host's own devices, which it does not cross.
	NetRx     float64 `json:"net_rx_bytes_per_s"`
	NetTx     float64 `json:"net_tx_bytes_per_s"`
	RestNetRx float64 `json:"rest_net_rx_bytes_per_s"`
	RestNetTx float64 `json:"rest_net_tx_bytes_per_s"`
	// CPUOverhead and MemOverhead are equation 3 of tesfatsion2018 with the
	// sign kept: (whole layer - guest) / guest, where whole = guest + layer.
	CPUOverhead *float64 `json:"cpu_overhead,omitempty"`
	MemOverhead *float64 `json:"mem_overhead,omitempty"`
	N           int      `json:"n"` // launches
	Notes       []string `json:"notes,omitempty"`
}

// Has reports whether the field with the JSON name was measured.
func (u *Usage) Has(field string) bool { return !slices.Contains(u.Absent, field) }

package result

import (
	"encoding/json"
	"reflect"
	"slices"

	"tare/internal/bench"
)

// Usage is where the resources of one platform's trials went, averaged over
// the measured windows of its launches.
type Usage struct {
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// CPU in cores busy: inside the guest, in the layer that serves it, and on the rest of the host.
	GuestCPU Measured `json:"guest_cpu"`
	LayerCPU Measured `json:"layer_cpu"`
	OtherCPU Measured `json:"other_cpu"`
	// OtherParts splits OtherCPU: "observer" is Tare itself, "other tasks"
	// everything else that is scheduled, kernel threads among it, and "irq" and
	// "softirq" interrupts, where the kernel keeps them out of tasks' time.
	// "interrupts on idle CPUs" are those that are in no task's time, where they
	// could be measured by themselves.
	OtherParts map[string]float64 `json:"other_parts,omitempty"`
	// BusyCPU is the host's own counter, and Unattributed what of it is in
	// neither guest, layer, others nor rest; below 0 if they exceed it.
	BusyCPU      Measured `json:"busy_cpu"`
	Unattributed Measured `json:"unattributed_cpu"`
	// UnattributedShare is Unattributed by BusyCPU, nil if either is not known.
	UnattributedShare *float64 `json:"unattributed_share,omitempty"`
	// SoftIRQ is the host's time in soft interrupts. It is contained in the
	// above: in OtherParts, or else with the tasks they interrupt.
	SoftIRQ Measured `json:"softirq_cpu"`
	// StealCPU in cores: taken by the hypervisor this host itself runs under.
	StealCPU Measured `json:"steal_cpu"`
	// Actors is the CPU in cores of actors that are not subjects, their layers
	// included, by role: "peer", "neighbour", "idle". It is in none of the above.
	Actors map[bench.Role]float64 `json:"actors_cpu,omitempty"`
	// Absent names the figures that are not known, for whoever reads the JSON, where
	// their zero says nothing. Notes say why.
	Absent []string `json:"absent,omitempty"`
	// Parts splits LayerCPU: "shim", "daemon", "vcpu", ...
	Parts map[string]float64 `json:"parts,omitempty"`
	// IdleDaemons is what of the daemons' CPU they would have used for nobody,
	// as measured while other platforms ran. It is in OtherCPU, not in LayerCPU.
	IdleDaemons map[string]float64 `json:"idle_daemons_cpu,omitempty"`
	// Memory in bytes, at the last reading within the window: at its closing edge
	// the program may have given its own back.
	GuestMem Measured `json:"guest_mem_bytes"`
	LayerMem Measured `json:"layer_mem_bytes"`
	OtherMem Measured `json:"other_mem_bytes"` // in use on the host and in no instance or layer
	// MigrationBytes is the memory that a migration of the subjects would have to move, in
	// bytes at its most in the window, and Given what they are given: a
	// container's limit, a virtual machine's size.
	MigrationBytes Measured `json:"migrate_bytes"`
	Given          float64  `json:"memory_given_bytes"`
	// Disk traffic of the host in bytes per second, of it the subjects', what the
	// processes of the layer cause beyond that, and what is left.
	DiskRead       Measured `json:"disk_read_bytes_per_s"`
	DiskWrite      Measured `json:"disk_write_bytes_per_s"`
	GuestDiskRead  Measured `json:"guest_disk_read_bytes_per_s"`
	GuestDiskWrite Measured `json:"guest_disk_write_bytes_per_s"`
	LayerDiskRead  Measured `json:"layer_disk_read_bytes_per_s"`
	LayerDiskWrite Measured `json:"layer_disk_write_bytes_per_s"`
	OtherDiskRead  Measured `json:"other_disk_read_bytes_per_s"`
	OtherDiskWrite Measured `json:"other_disk_write_bytes_per_s"`
	// Network traffic of the subjects, in bytes per second. It is in the test network's
	// namespace; that of the rest is of the host's own devices, which it does not cross.
	NetRx      Measured `json:"net_rx_bytes_per_s"`
	NetTx      Measured `json:"net_tx_bytes_per_s"`
	OtherNetRx Measured `json:"other_net_rx_bytes_per_s"`
	OtherNetTx Measured `json:"other_net_tx_bytes_per_s"`
	// CPUOverhead, MemOverhead and DiskOverhead are equation 3 of tesfatsion2018 with the
	// sign kept: (whole layer - guest) / guest, where whole = guest + layer. Of the disk it is of what
	// is read and written together, where that is enough to tell.
	CPUOverhead  *float64 `json:"cpu_overhead,omitempty"`
	MemOverhead  *float64 `json:"mem_overhead,omitempty"`
	DiskOverhead *float64 `json:"disk_overhead,omitempty"`
	N            int      `json:"n"` // launches
	Notes        []string `json:"notes,omitempty"`
}

// Figure is a figure of a row by its name in JSON.
type Figure struct {
	Name string
	*Measured
}

// Figures are those that may be absent, in the order in which [Usage.Absent] names them.
func (u *Usage) Figures() []Figure {
	var all []Figure
	row := reflect.ValueOf(u).Elem()
	for i := range row.NumField() {
		if m, ok := row.Field(i).Addr().Interface().(*Measured); ok {
			all = append(all, Figure{row.Type().Field(i).Tag.Get("json"), m})
		}
	}
	return all
}

// UnmarshalJSON reads what is written of a row: the figures that it names as
// absent are not known.
func (u *Usage) UnmarshalJSON(text []byte) error {
	type plain Usage
	if err := json.Unmarshal(text, (*plain)(u)); err != nil {
		return err
	}
	for _, f := range u.Figures() {
		if slices.Contains(u.Absent, f.Name) {
			*f.Measured = Measured{}
		}
	}
	return nil
}

// Measured is a figure that may not be known. In JSON it is its value, 0 where
// it is not known.
type Measured struct {
	Value float64
	Known bool
}

// Known is a figure that was measured.
func Known(v float64) Measured { return Measured{Value: v, Known: true} }

// Pointer is the value, nil where it is not known.
func (m Measured) Pointer() *float64 {
	if !m.Known {
		return nil
	}
	return &m.Value
}

// MarshalJSON writes the value.
func (m Measured) MarshalJSON() ([]byte, error) { return json.Marshal(m.Value) }

// UnmarshalJSON reads a value, which is then known.
func (m *Measured) UnmarshalJSON(text []byte) error {
	m.Known = true
	return json.Unmarshal(text, &m.Value)
}

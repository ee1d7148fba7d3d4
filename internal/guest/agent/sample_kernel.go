package agent

import (
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// kernelSampler reads an instance that has a kernel of its own: everything that
// kernel counts. Traffic of disks is that of whole virtio, SCSI, NVMe and Xen disks.
type kernelSampler struct {
	stat, meminfo, disk, net *proc.File // nil where there is none
}

var kernelColumns = []string{
	bench.ColCPUUser, bench.ColCPUNice, bench.ColCPUSystem, bench.ColCPUIdle, bench.ColCPUIOWait,
	bench.ColCPUIRQ, bench.ColCPUSoftIRQ, bench.ColCPUSteal, bench.ColCPUBusy,
	bench.ColMemUsed, bench.ColMemCache,
	bench.ColDiskRead, bench.ColDiskWrite, bench.ColDiskReadOps, bench.ColDiskWriteOps,
	bench.ColNetRx, bench.ColNetTx, bench.ColNetRxPackets, bench.ColNetTxPackets,
	bench.ColObserver,
}

func newKernelSampler(root string) *kernelSampler {
	at := func(name string) *proc.File { return open(filepath.Join(root, "proc", name)) }
	return &kernelSampler{at("stat"), at("meminfo"), at("diskstats"), at("self/net/dev")}
}

func (k *kernelSampler) columns() []string { return kernelColumns }

func (k *kernelSampler) sample(v []float64) {
	fill(v)
	if k.stat != nil {
		if b, err := k.stat.Read(); err == nil {
			if c, err := proc.ParseStat(b); err == nil {
				copy(v, []float64{c.User, c.Nice, c.System, c.Idle, c.IOWait, c.IRQ, c.SoftIRQ, c.Steal, c.Busy(proc.Uptime())})
			}
		}
	}
	if k.meminfo != nil {
		if b, err := k.meminfo.Read(); err == nil {
			if m, err := proc.ParseMeminfo(b); err == nil {
				v[9], v[10] = m.Used(), m.Cache()
			}
		}
	}
	if k.disk != nil {
		if b, err := k.disk.Read(); err == nil {
			var sum proc.Disk
			err := proc.EachDisk(b, func(name []byte, d proc.Disk) {
				if wholeDisk(string(name)) {
					sum.ReadBytes += d.ReadBytes
					sum.WriteBytes += d.WriteBytes
					sum.ReadOps += d.ReadOps
					sum.WriteOps += d.WriteOps
				}
			})
			if err == nil {
				v[11], v[12], v[13], v[14] = sum.ReadBytes, sum.WriteBytes, sum.ReadOps, sum.WriteOps
			}
		}
	}
	if n, ok := traffic(k.net); ok {
		v[15], v[16], v[17], v[18] = n.RxBytes, n.TxBytes, n.RxPackets, n.TxPackets
	}
	v[19] = observed()
}

// wholeDisk tells a disk from its partitions and from what is stacked on it.
func wholeDisk(name string) bool {
	switch {
	case strings.HasPrefix(name, "vd"), strings.HasPrefix(name, "sd"), strings.HasPrefix(name, "xvd"):
		return !strings.ContainsAny(name, "0123456789")
	case strings.HasPrefix(name, "nvme"):
		return !strings.Contains(name[len("nvme"):], "p")
	}
	return false
}

func (k *kernelSampler) close() {
	for _, f := range []*proc.File{k.stat, k.meminfo, k.disk, k.net} {
		if f != nil {
			f.Close()
		}
	}
}

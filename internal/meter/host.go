package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Proc reads the machine's totals: CPU time by mode, memory, traffic of whole
// disks, traffic of network devices other than lo, and pressure.
type Proc struct {
	stat, meminfo, disk, net *proc.File
	psi                      [3]*proc.File // nil if the kernel has no pressure information
	disks                    map[string]bool
}

var procColumns = []string{
	bench.ColCPUUser, bench.ColCPUNice, bench.ColCPUSystem, bench.ColCPUIdle, bench.ColCPUIOWait,
	bench.ColCPUIRQ, bench.ColCPUSoftIRQ, bench.ColCPUSteal, bench.ColCPUGuest, bench.ColCPUBusy,
	bench.ColMemUsed, bench.ColMemCache,
	bench.ColDiskRead, bench.ColDiskWrite, bench.ColDiskReadOps, bench.ColDiskWriteOps,
	bench.ColNetRx, bench.ColNetTx, bench.ColNetRxPackets, bench.ColNetTxPackets,
	bench.ColPSICPU, bench.ColPSIMemory, bench.ColPSIIO,
	bench.ColSwapUsed,
}

// OpenProc opens the reader on the trees mounted at procDir and sysDir.
func OpenProc(procDir, sysDir string) (*Proc, error) {
	p := &Proc{}
	var err error
	for path, f := range map[string]**proc.File{
		"stat": &p.stat, "meminfo": &p.meminfo, "diskstats": &p.disk, "self/net/dev": &p.net,
	} {
		if *f, err = proc.Open(filepath.Join(procDir, path)); err != nil {
			p.Close()
			return nil, fmt.Errorf("open host meter: %w", err)
		}
	}
	for i, name := range []string{"cpu", "memory", "io"} {
		f, err := proc.Open(filepath.Join(procDir, "pressure", name))
		if err == nil {
			p.psi[i] = f
		}
	}
	if p.disks, err = wholeDisks(sysDir); err != nil {
		p.Close()
		return nil, fmt.Errorf("open host meter: %w", err)
	}
	return p, nil
}

// wholeDisks returns the block devices whose traffic counts. It leaves out partitions and RAM
// disks, and devices stacked on others (loop, device-mapper, RAID), whose traffic would count
// twice.
func wholeDisks(sysDir string) (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Join(sysDir, "block"))
	if err != nil {
		return nil, fmt.Errorf("list block devices: %w", err)
	}
	disks := map[string]bool{}
	for _, e := range entries {
		stacked := false
		for _, prefix := range []string{"loop", "ram", "zram", "dm-", "md", "nbd", "fd", "sr"} {
			stacked = stacked || strings.HasPrefix(e.Name(), prefix)
		}
		if !stacked {
			disks[e.Name()] = true
		}
	}
	return disks, nil
}

func (p *Proc) Meter() string      { return "proc" }
func (p *Proc) Level() bench.Level { return bench.Host }
func (p *Proc) Columns() []string  { return procColumns }

// Read fills values. The columns of a source that fails are missing, and the error names the
// source.
func (p *Proc) Read(v []float64) error {
	missing(v)
	return errors.Join(p.readCPU(v), p.readMemory(v), p.readDisk(v), p.readNet(v), p.readPressure(v))
}

func (p *Proc) readCPU(v []float64) error {
	b, err := p.stat.Read()
	if err != nil {
		return err
	}
	c, err := proc.ParseStat(b)
	if err != nil {
		return err
	}
	copy(v, []float64{c.User, c.Nice, c.System, c.Idle, c.IOWait, c.IRQ, c.SoftIRQ, c.Steal, c.Guest, c.Busy(proc.Uptime())})
	return nil
}

func (p *Proc) readMemory(v []float64) error {
	b, err := p.meminfo.Read()
	if err != nil {
		return err
	}
	m, err := proc.ParseMeminfo(b)
	if err != nil {
		return err
	}
	v[10], v[11] = m.Used(), m.Cache()
	v[23] = m.SwapTotal - m.SwapFree
	return nil
}

func (p *Proc) readDisk(v []float64) error {
	b, err := p.disk.Read()
	if err != nil {
		return err
	}
	var sum proc.Disk
	err = proc.EachDisk(b, func(name []byte, d proc.Disk) {
		if p.disks[string(name)] {
			sum.ReadBytes += d.ReadBytes
			sum.WriteBytes += d.WriteBytes
			sum.ReadOps += d.ReadOps
			sum.WriteOps += d.WriteOps
		}
	})
	if err != nil {
		return err
	}
	v[12], v[13], v[14], v[15] = sum.ReadBytes, sum.WriteBytes, sum.ReadOps, sum.WriteOps
	return nil
}

func (p *Proc) readNet(v []float64) error {
	b, err := p.net.Read()
	if err != nil {
		return err
	}
	var sum proc.Net
	err = proc.EachNet(b, func(name []byte, n proc.Net) {
		if string(name) != "lo" {
			sum.RxBytes += n.RxBytes
			sum.TxBytes += n.TxBytes
			sum.RxPackets += n.RxPackets
			sum.TxPackets += n.TxPackets
		}
	})
	if err != nil {
		return err
	}
	v[16], v[17], v[18], v[19] = sum.RxBytes, sum.TxBytes, sum.RxPackets, sum.TxPackets
	return nil
}

func (p *Proc) readPressure(v []float64) error {
	for i, f := range p.psi {
		if f == nil {
			continue
		}
		b, err := f.Read()
		if err != nil {
			return err
		}
		s, err := proc.ParsePressure(b)
		if err != nil {
			return err
		}
		v[20+i] = s
	}
	return nil
}

// Close closes the files.
func (p *Proc) Close() error {
	for _, f := range append(p.psi[:], p.stat, p.meminfo, p.disk, p.net) {
		if f != nil {
			f.Close()
		}
	}
	return nil
}

var _ bench.Reader = (*Proc)(nil)

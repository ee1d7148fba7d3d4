package agent

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/proc"
)

// treeSampler reads an instance that shares its kernel: what its processes, the
// descendants of the agent, have used so far, the ended ones included, and the
// devices of its network namespace.
type treeSampler struct {
	reaper *reaper
	net    *proc.File // nil where there is none
	page   float64
	buf    [4096]byte
	pids   []int
}

var treeColumns = []string{
	bench.ColCPUBusy, bench.ColCPUUser, bench.ColCPUSystem, bench.ColMemRSS,
	bench.ColDiskRead, bench.ColDiskWrite,
	bench.ColNetRx, bench.ColNetTx, bench.ColNetRxPackets, bench.ColNetTxPackets,
	bench.ColObserver,
}

func newTreeSampler(r *reaper) *treeSampler {
	t := &treeSampler{reaper: r, page: float64(os.Getpagesize())}
	if f, err := proc.Open("/proc/self/net/dev"); err == nil {
		t.net = f
	}
	return t
}

func (t *treeSampler) columns() []string { return treeColumns }

func (t *treeSampler) sample(v []float64) {
	fill(v)
	if u, rss, err := t.use(); err == nil {
		v[1], v[2] = u.user.Seconds(), u.system.Seconds()
		v[0], v[3] = v[1]+v[2], float64(rss)*t.page
		if !u.ioUnknown {
			v[4], v[5] = float64(u.read), float64(u.write)
		}
	}
	if n, ok := traffic(t.net); ok {
		v[6], v[7], v[8], v[9] = n.RxBytes, n.TxBytes, n.RxPackets, n.TxPackets
	}
	v[10] = observed()
}

// use adds up what descendants have used and the pages they hold. No child is
// reaped meanwhile, so that none is counted twice or not at all.
func (t *treeSampler) use() (u used, rss int64, err error) {
	t.reaper.mu.Lock()
	defer t.reaper.mu.Unlock()
	u = t.reaper.carried
	t.pids = append(t.pids[:0], os.Getpid())
	for i := 0; i < len(t.pids); i++ {
		if err := t.addChildren(t.pids[i]); err != nil && i == 0 {
			return u, 0, err
		}
	}
	for _, pid := range t.pids[1:] {
		b, err := procFile(pid, "stat", t.buf[:])
		if err != nil {
			continue // gone meanwhile; its parent has its times
		}
		p, err := parseProcStat(b)
		if err != nil {
			return u, 0, err
		}
		u.user += time.Duration(p.user) * (time.Second / userHZ)
		u.system += time.Duration(p.system) * (time.Second / userHZ)
		rss += p.rss
		if b, err = procFile(pid, "io", t.buf[:]); err == nil {
			var read, write int64
			if read, write, err = parseProcIO(b); err == nil {
				u.read += read
				u.write += write
			}
		}
		u.ioUnknown = u.ioUnknown || err != nil
	}
	return u, rss, nil
}

// addChildren lists the children of every thread of a process
// (proc_tid_children(5), CONFIG_PROC_CHILDREN).
func (t *treeSampler) addChildren(pid int) error {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	tids, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		fd, err := unix.Open(dir+"/"+tid+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			if pid == os.Getpid() {
				return err
			}
			continue
		}
		n, err := unix.Read(fd, t.buf[:])
		unix.Close(fd)
		if err != nil {
			continue
		}
		for rest := t.buf[:n]; ; {
			var f []byte
			if f, rest = nextField(rest); len(f) == 0 {
				break
			}
			if child, ok := parseInt(f); ok {
				t.pids = append(t.pids, int(child))
			}
		}
	}
	return nil
}

func (t *treeSampler) close() {
	if t.net != nil {
		t.net.Close()
	}
}

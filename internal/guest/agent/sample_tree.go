package agent

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

var treeColumns = []string{
	bench.ColCPUUser, bench.ColCPUSystem, bench.ColCPUBusy, bench.ColMemRSS,
	bench.ColDiskRead, bench.ColDiskWrite,
	bench.ColNetRx, bench.ColNetRxPackets, bench.ColNetTx, bench.ColNetTxPackets,
	bench.ColObserver,
}

// treeSampler samples an instance that shares the host's kernel: what the agent's descendants use,
// and the interfaces of its network namespace.
//
// CPU time and block I/O are those of the descendants that are alive (each with the children it has
// waited for) and of those the agent has reaped. Parents are read before their children, so a
// process that ends meanwhile may be missed once but is never counted twice. A reported total never
// falls. Only processes that nobody waits for (SIGCHLD ignored) are lost. Resident sets are summed,
// so pages shared among processes count for each.
type treeSampler struct {
	reaper   *reaper
	loadavg  *proc.File // nil where there is none
	netdev   *proc.File // likewise
	pageSize float64
	self     int
	lastPID  int64      // of the PID namespace, when the tree was last walked
	tree     []*process // parents first
	known    map[int]*process
	scanned  bool       // the tree comes from a scan of all processes
	buf      []byte     // one of a process's files
	list     []byte     // a list of children
	high     [4]float64 // the highest totals reported: user, system, read, write
}

// process is a descendant with its files held open, so that a reused process id is not mistaken for
// it.
type process struct {
	pid      int
	stat, io int // file descriptors, -1 for none
	seen     bool
}

func newTreeSampler(r *reaper) *treeSampler {
	return &treeSampler{
		reaper: r, loadavg: open("/proc/loadavg"), netdev: open("/proc/self/net/dev"),
		pageSize: float64(os.Getpagesize()), self: os.Getpid(), known: map[int]*process{}, buf: make([]byte, 4096), list: make([]byte, 4096),
	}
}

func (t *treeSampler) columns() []string { return treeColumns }

func (t *treeSampler) close() {
	for _, f := range []*proc.File{t.loadavg, t.netdev} {
		if f != nil {
			f.Close()
		}
	}
	for _, p := range t.tree {
		p.close()
	}
}

func (t *treeSampler) sample(values []float64) {
	fill(values)
	if err := t.sampleTree(values[0:6]); err != nil {
		fill(values[0:6])
	}
	if n, ok := traffic(t.netdev); ok {
		values[6], values[7], values[8], values[9] = n.RxBytes, n.RxPackets, n.TxBytes, n.TxPackets
	}
	values[10] = observed()
}

// sampleTree reads every descendant. The tree itself is walked only when a
// process or thread has been made since the last time, which the kernel tells by
// the last process id it gave out (proc_loadavg(5)).
func (t *treeSampler) sampleTree(values []float64) error {
	last, ok := t.newestPID()
	walking := !ok || last != t.lastPID
	// None of the agent's own children is reaped while the tree is read.
	t.reaper.mu.Lock()
	defer t.reaper.mu.Unlock()
	total := t.reaper.carried
	if walking {
		if err := t.walk(); err != nil {
			return err
		}
	}
	var rss int64
	for i := 0; i < len(t.tree); i++ {
		p := t.tree[i]
		stat, alive, err := t.add(p, &total)
		if err != nil {
			return err
		}
		rss += stat.rss
		if walking && alive && !t.scanned {
			if err := t.addChildren(p.pid, stat.threads); err != nil {
				return err
			}
		}
	}
	if walking {
		t.prune()
		t.lastPID = last
	}
	values[0] = t.rise(0, total.user.Seconds())
	values[1] = t.rise(1, total.system.Seconds())
	values[2] = values[0] + values[1]
	values[3] = float64(rss) * t.pageSize
	if !total.ioUnknown {
		values[4] = t.rise(2, float64(total.read))
		values[5] = t.rise(3, float64(total.write))
	}
	return nil
}

// rise returns the highest value a total has had.
func (t *treeSampler) rise(i int, v float64) float64 {
	t.high[i] = max(t.high[i], v)
	return t.high[i]
}

// add adds to total what a process has used, if it is alive still.
func (t *treeSampler) add(p *process, total *used) (stat procStat, alive bool, err error) {
	n, err := unix.Pread(p.stat, t.buf[:], 0)
	if err == unix.ESRCH {
		return stat, false, nil
	}
	if err != nil {
		return stat, false, err
	}
	if stat, err = parseProcStat(t.buf[:n]); err != nil {
		return stat, false, err
	}
	total.user += time.Duration(stat.user) * (time.Second / userHZ)
	total.system += time.Duration(stat.system) * (time.Second / userHZ)
	if p.io < 0 {
		total.ioUnknown = true
		return stat, true, nil
	}
	n, err = unix.Pread(p.io, t.buf[:], 0)
	if err == unix.ESRCH {
		return stat, true, nil
	}
	var read, write int64
	if err == nil {
		read, write, err = parseProcIO(t.buf[:n])
	}
	total.ioUnknown = total.ioUnknown || err != nil
	total.read += read
	total.write += write
	return stat, true, nil
}

package agent

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/host/clock"
)

// ending is how a child ended.
type ending struct {
	status       unix.WaitStatus
	user, system time.Duration
	at           int64 // clock.Now
}

// used is what a set of processes has used so far.
type used struct {
	user, system time.Duration
	read, write  int64 // bytes of block I/O
	ioUnknown    bool  // the I/O of some of them could not be read
}

// reaper waits for children. It is the only one to do so, so that a child's
// process id stays valid for as long as the child is listed as running.
type reaper struct {
	all     bool // every child of the process, not only those started here
	signals chan os.Signal
	stopped chan struct{}

	mu      sync.Mutex
	running map[int]chan<- ending
	carried used // by those that were reaped
	buf     [1024]byte
}

func newReaper(all bool) *reaper {
	r := &reaper{all: all, signals: make(chan os.Signal, 1), stopped: make(chan struct{}), running: map[int]chan<- ending{}}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go r.loop()
	return r
}

func (r *reaper) stop() {
	signal.Stop(r.signals)
	close(r.stopped)
}

func (r *reaper) loop() {
	for {
		select {
		case <-r.signals:
			r.reap()
		case <-r.stopped:
			return
		}
	}
}

// start runs fork, and later sends to ended, which has room, how the child ended.
func (r *reaper) start(fork func() (pid int, err error), ended chan<- ending) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err == nil {
		r.running[pid] = ended
	}
	return pid, err
}

// signal sends sig to the child's process group, unless it was reaped already.
func (r *reaper) signal(pid int, sig unix.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.running[pid]; ok {
		_ = unix.Kill(-pid, sig) // it is a zombie at worst
	}
}

// reap waits for every child that has ended.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all {
		for r.bury(ended(unix.P_ALL, 0)) {
		}
		return
	}
	for pid := range r.running {
		r.bury(ended(unix.P_PID, pid))
	}
}

// ended returns a child that has ended but was not waited for, or 0.
func ended(which, id int) int {
	var info unix.Siginfo
	err := unix.Waitid(which, id, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	for err == unix.EINTR {
		err = unix.Waitid(which, id, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	}
	if err != nil {
		return 0
	}
	// si_pid is the first member of the union, which follows three ints and,
	// on 64-bit machines, padding.
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), unsafe.Sizeof(uintptr(0))+8)))
}

// bury waits for a child that has ended, adding up what it used, and reports
// whether there was one. A zombie's /proc/PID/io can still be read.
func (r *reaper) bury(pid int) bool {
	if pid <= 0 {
		return false
	}
	content, err := procFile(pid, "io", r.buf[:])
	var read, write int64
	if err == nil {
		read, write, err = parseProcIO(content)
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	if got, waitErr := unix.Wait4(pid, &status, unix.WNOHANG, &usage); waitErr != nil || got != pid {
		return false
	}
	e := ending{status: status, user: time.Duration(usage.Utime.Nano()), system: time.Duration(usage.Stime.Nano()), at: clock.Now()}
	r.carried.user += e.user
	r.carried.system += e.system
	r.carried.read += read
	r.carried.write += write
	r.carried.ioUnknown = r.carried.ioUnknown || err != nil
	if notify, ok := r.running[pid]; ok {
		delete(r.running, pid)
		notify <- e
	}
	return true
}

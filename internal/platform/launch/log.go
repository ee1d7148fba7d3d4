package launch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// What is kept of all that a guest or a platform's program prints: the beginning and the end.
const (
	headKept = 256 << 10
	tailKept = 1 << 20
)

// How what a program prints is taken: a round of reading each breath, or each short one where the round before took
// as much as a full pipe may hold. So it costs no more than some hundred wake-ups a second, and who prints more than
// 32 MB/s is held up; a serial line's guest never is. A larger pipe would need fewer, but its pages count for its
// user, root, whose further pipes, those in containers as well, the kernel makes small beyond 64 MiB (pipe(7)).
const (
	breath      = 20 * time.Millisecond
	shortBreath = 2 * time.Millisecond
	roundMax    = 64 << 10
	// withNeighbours is what a full pipe has at least: two writes share a page if both fit, so no two pages are half empty.
	withNeighbours = roundMax / 2
)

// flushEach is how often the end that is kept is written to the file while more comes.
const flushEach = time.Second

// HeadTail is a file of the beginning and the end of what is written to it, with a line between them that says how much was
// left out. It takes at most headKept + tailKept on the disk, and twice tailKept of memory.
type HeadTail struct {
	mu      sync.Mutex
	file    *os.File
	head    int64  // in the file
	tail    []byte // what comes after the head; its last tailKept bytes count
	past    int64  // what was dropped from tail
	flushed time.Time
	stale   bool // the file has not all of the end
}

// Keep makes the file, or goes on behind what is in it.
func Keep(path string) (*HeadTail, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &HeadTail{file: f, head: info.Size()}, nil
}

// Write keeps p. A disk that is full is not an error of the one who prints.
func (k *HeadTail) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(p)
	if room := headKept - k.head; room > 0 && len(k.tail) == 0 {
		first := p[:min(room, int64(len(p)))]
		_, _ = k.file.WriteAt(first, k.head)
		k.head += int64(len(first))
		p = p[len(first):]
	}
	if len(p) == 0 {
		return n, nil
	}
	k.tail = append(k.tail, p...)
	if over := len(k.tail) - tailKept; over > tailKept {
		k.past += int64(over)
		k.tail = slices.Delete(k.tail, 0, over)
	}
	k.stale = true
	if time.Since(k.flushed) >= flushEach {
		k.flush()
	}
	return n, nil
}

// flush writes the end that is kept; mu is held.
func (k *HeadTail) flush() {
	if !k.stale {
		return
	}
	end, out := k.tail, k.past
	if over := len(end) - tailKept; over > 0 {
		end, out = end[over:], out+int64(over)
	}
	at := k.head
	if out > 0 {
		between := fmt.Appendf(nil, "\n[%d bytes are left out here]\n", out)
		_, _ = k.file.WriteAt(between, at)
		at += int64(len(between))
	}
	_, _ = k.file.WriteAt(end, at)
	_ = k.file.Truncate(at + int64(len(end)))
	k.flushed, k.stale = time.Now(), false
}

// Flush brings the file up to date.
func (k *HeadTail) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flush()
}

// behind reports whether the file has yet to be brought up to date.
func (k *HeadTail) behind() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stale
}

// Close is the last Flush.
func (k *HeadTail) Close() error {
	k.Flush()
	return k.file.Close()
}

// Log are what a program prints into a pipe, kept as [Kept] does. The program is not held up by a reader that is
// slow: only by printing faster than is read at most. A thread waits for it in poll(2): the runtime's poller would
// wake up at every write, and a guest that prints byte by byte would keep half a CPU busy.
type Log struct {
	path string
	text *HeadTail
	in   *os.File      // the program's end of a pipe without a name
	name string        // of one with a name
	wake int           // an eventfd that ends a wait
	done chan struct{} // closed once all is let go of
	once sync.Once     // for wake

	mu   sync.Mutex
	out  int // is read; -1 once it was closed
	buf  []byte
	over bool // all who could print have ended, or Close was called
	held bool // one short breath after another the pipe was full
}

// OpenLog keeps what is printed into [Words.Pipe] in the file at path.
func OpenLog(path string) (*Log, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	in := os.NewFile(uintptr(ends[1]), "|"+path)
	w, err := keepFrom(ends[0], path)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	w.in = in
	go w.take()
	return w, nil
}

// OpenNamedLog is for a program that opens a file: it is given the path pipe, which is made. Close ends it.
func OpenNamedLog(pipe, path string) (*Log, error) {
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		return nil, fmt.Errorf("make pipe %s: %w", pipe, err)
	}
	// Opened for writing as well it has no end while nobody prints.
	out, err := unix.Open(pipe, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open pipe %s: %w", pipe, err), os.Remove(pipe))
	}
	w, err := keepFrom(out, path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(pipe))
	}
	w.name = pipe
	go w.take()
	return w, nil
}

// keepFrom takes the descriptor over.
func keepFrom(out int, path string) (*Log, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(out))
	}
	kept, err := Keep(path)
	if err == nil {
		err = unix.SetNonblock(out, true)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(out), unix.Close(wake))
	}
	return &Log{path: path, text: kept, out: out, wake: wake, buf: make([]byte, roundMax), done: make(chan struct{})}, nil
}

// take reads until all is over.
func (w *Log) take() {
	defer w.letGo()
	pause := breath
	for {
		patience := forever
		if w.text.behind() {
			patience = flushEach
		}
		if !w.await(patience, int32(w.out)) { // there was a moment's silence
			w.text.Flush()
			continue
		}
		n, over := w.round()
		if over {
			return
		}
		switch {
		case n <= withNeighbours:
			pause = breath
		case pause == shortBreath:
			w.hold()
		default:
			pause = shortBreath
		}
		w.await(pause)
	}
}

// forever is the patience of a wait that has no end.
const forever = -time.Millisecond

// await waits until there is something to read, or the wait is ended; it reports false if patience ended before.
func (w *Log) await(patience time.Duration, reads ...int32) bool {
	fds := []unix.PollFd{{Fd: int32(w.wake), Events: unix.POLLIN}}
	for _, fd := range reads {
		fds = append(fds, unix.PollFd{Fd: fd, Events: unix.POLLIN})
	}
	for {
		n, err := unix.Poll(fds, int(patience.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// round reads once, which takes all that is in a pipe: to read on until there is nothing would be to
// run beside a guest that prints byte by byte.
func (w *Log) round() (n int, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return 0, true
	}
	n, err := unix.Read(w.out, w.buf)
	if n > 0 {
		_, _ = w.text.Write(w.buf[:n])
	} else {
		w.over = !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	}
	return max(n, 0), w.over
}

// HeldUp reports whether the program has so far printed as fast as is read at most.
func (w *Log) HeldUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

func (w *Log) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

// Pipe is what the program is to print into.
func (w *Log) Pipe() *os.File { return w.in }

// Given says that the program has been started, or will not be: the pipe ends with those who have it by then.
func (w *Log) Given() { w.in.Close() }

// Sync brings the file up to date with what was printed before the call, or the first 64 KiB of that.
func (w *Log) Sync() {
	w.round()
	w.text.Flush()
}

// Tail is the end of what was printed before the call.
func (w *Log) Tail() string {
	w.Sync()
	return Tail(w.path)
}

// Close keeps what was printed until now and no more. Who prints on gets SIGPIPE or EPIPE.
func (w *Log) Close() error {
	w.Sync()
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	var err error
	w.once.Do(func() {
		_, err = unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	<-w.done
	return err
}

// letGo closes what take had open. What cannot be removed is the run's to remove, with the directory.
func (w *Log) letGo() {
	defer close(w.done)
	if w.in != nil {
		w.in.Close()
	}
	w.mu.Lock()
	unix.Close(w.out)
	w.out, w.over = -1, true
	w.mu.Unlock()
	_ = w.text.Close()
	if w.name != "" {
		_ = os.Remove(w.name)
	}
	w.once.Do(func() {}) // nobody wakes what has ended
	unix.Close(w.wake)
}

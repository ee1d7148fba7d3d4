package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// modified is the one queue of the process for what is written to files: the kernel
// grants a user 128 queues, which all programs of the host's root share.
var modified notifier

// notifier tells who waits for it that a file was written to.
type notifier struct {
	mu    sync.Mutex
	queue *os.File // inotify(7); nil while nothing is watched
	tell  map[int32]chan<- struct{}
}

// watch has something sent to written, if there is room, whenever one of the files
// is written to. A file that is not there is passed over.
func (n *notifier) watch(files []string, written chan<- struct{}) (unwatch func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.open(); err != nil {
		return nil, err
	}
	var ids []int32
	for _, path := range files {
		id, aerr := n.add(path)
		if errors.Is(aerr, os.ErrNotExist) {
			continue
		}
		if aerr != nil {
			err = fmt.Errorf("watch %s: %w", path, aerr)
			break
		}
		n.tell[id] = written
		ids = append(ids, id)
	}
	unwatch = func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.remove(ids)
	}
	if err != nil {
		n.remove(ids)
		return nil, err
	}
	return unwatch, nil
}

// open makes the queue, if there is none. The lock is held.
func (n *notifier) open() error {
	if n.queue != nil {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	n.queue, n.tell = os.NewFile(uintptr(fd), "inotify"), map[int32]chan<- struct{}{}
	go n.serve(n.queue)
	return nil
}

func (n *notifier) add(path string) (id int32, err error) {
	err = n.control(func(fd int) error {
		wd, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY)
		id = int32(wd)
		return err
	})
	return id, err
}

// remove gives watches back, and the queue with the last of them. The lock is held.
func (n *notifier) remove(ids []int32) {
	for _, id := range ids {
		if _, ok := n.tell[id]; !ok {
			continue
		}
		delete(n.tell, id)
		_ = n.control(func(fd int) error { // the file may be gone, and its watch with it
			_, err := unix.InotifyRmWatch(fd, uint32(id))
			return err
		})
	}
	if n.queue != nil && len(n.tell) == 0 {
		n.queue.Close()
		n.queue = nil
	}
}

// control gives f the queue's descriptor, which asking for it otherwise would make block.
func (n *notifier) control(f func(fd int) error) error {
	raw, err := n.queue.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := raw.Control(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return err
	}
	return ferr
}

// serve passes on what the queue says until it is closed.
func (n *notifier) serve(queue *os.File) {
	buf := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		got, err := queue.Read(buf)
		if err != nil {
			return
		}
		n.mu.Lock()
		for event := buf[:got]; len(event) >= unix.SizeofInotifyEvent; {
			id := int32(binary.NativeEndian.Uint32(event))
			mask, name := binary.NativeEndian.Uint32(event[4:]), binary.NativeEndian.Uint32(event[12:])
			n.pass(queue, id, mask)
			event = event[min(len(event), unix.SizeofInotifyEvent+int(name)):]
		}
		n.mu.Unlock()
	}
}

// pass tells the one who waits for the watch, or everybody where events were lost.
func (n *notifier) pass(queue *os.File, id int32, mask uint32) {
	if n.queue != queue {
		return // another has taken its place
	}
	tell := func(written chan<- struct{}) {
		select {
		case written <- struct{}{}:
		default:
		}
	}
	if mask&unix.IN_Q_OVERFLOW != 0 {
		for _, written := range n.tell {
			tell(written)
		}
	} else if written := n.tell[id]; written != nil {
		tell(written)
	}
	if mask&unix.IN_IGNORED != 0 { // the file is gone
		delete(n.tell, id)
	}
}

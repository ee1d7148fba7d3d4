package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Exec is the execution of a program, as the kernel reports it.
type Exec struct {
	PID int   // of the process, its thread group, in the host's PID namespace
	At  int64 // nanoseconds of CLOCK_MONOTONIC
}

// Fork is a new process, and the one that made it.
type Fork struct{ Parent, Child int }

// Events are what the kernel has reported.
type Events struct {
	Execs []Exec
	Forks []Fork
}

// Execs listens to the kernel's process events connector (linux/cn_proc.h). What
// it reports waits in the socket's buffer until it is asked for, so that
// listening wakes nobody during a launch.
type Execs struct{ fd int }

// Of linux/connector.h and linux/cn_proc.h.
const (
	cnIdxProc, cnValProc = 1, 1
	procCNMcastListen    = 1
	procEventFork        = 1
	procEventExec        = 2
	// maxEvents bounds what waits in the buffer; a launch makes some hundred events.
	buffer = 8 << 20
)

// Listen begins to listen. Only root in the host's own namespaces may; elsewhere
// the error wraps [bench.ErrUnavailable].
func Listen() (*Execs, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, fmt.Errorf("listen to process events: %w: %w", err, bench.ErrUnavailable)
	}
	e := &Execs{fd}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: cnIdxProc})
	}
	if err == nil {
		err = unix.Sendto(fd, listenRequest(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen to process events: %w: %w", err, bench.ErrUnavailable), e.Close())
	}
	return e, nil
}

// listenRequest is a netlink message with a cn_msg that asks for events.
func listenRequest() []byte {
	const size = unix.SizeofNlMsghdr + cnHeader + 4
	b := make([]byte, size)
	h := binary.NativeEndian
	h.PutUint32(b[0:], size)
	h.PutUint16(b[4:], unix.NLMSG_DONE)
	cn := b[unix.SizeofNlMsghdr:]
	h.PutUint32(cn[0:], cnIdxProc)
	h.PutUint32(cn[4:], cnValProc)
	h.PutUint16(cn[16:], 4)
	h.PutUint32(cn[cnHeader:], procCNMcastListen)
	return b
}

// cnHeader is the size of cn_msg without its data: id, sequence, acknowledgement, length and flags.
const cnHeader = 20

// Read returns what was reported since Listen or the last Read.
func (e *Execs) Read() (Events, error) {
	var all Events
	buf := make([]byte, 4096)
	for {
		n, _, err := unix.Recvfrom(e.fd, buf, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return all, nil
		case err != nil: // ENOBUFS among them: some events are lost, and nobody knows which
			return Events{}, fmt.Errorf("read process events: %w", err)
		}
		if err := all.parse(buf[:n]); err != nil {
			return Events{}, err
		}
	}
}

// parse adds the messages of one datagram: a netlink header, a cn_msg and a proc_event (what, CPU,
// time stamp, and then process and thread group: of an execution its own, of a fork the parent's
// and the child's). A new thread is no fork.
func (v *Events) parse(b []byte) error {
	h := binary.NativeEndian
	for len(b) > 0 {
		if len(b) < unix.SizeofNlMsghdr {
			return fmt.Errorf("process event: %d bytes are not a netlink message", len(b))
		}
		size := int(h.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return fmt.Errorf("process event: a message of %d bytes in %d", size, len(b))
		}
		if event := b[unix.SizeofNlMsghdr:size]; len(event) >= cnHeader+24 {
			event = event[cnHeader:]
			id := func(at int) int { return int(int32(h.Uint32(event[at:]))) }
			switch what := h.Uint32(event); {
			case what == procEventExec:
				v.Execs = append(v.Execs, Exec{PID: id(20), At: int64(h.Uint64(event[8:]))})
			case what == procEventFork && len(event) >= 32 && id(20) != id(28):
				v.Forks = append(v.Forks, Fork{Parent: id(20), Child: id(28)})
			}
		}
		b = b[min(len(b), (size+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1)):]
	}
	return nil
}

// Close stops listening.
func (e *Execs) Close() error { return unix.Close(e.fd) }

// Found are the executions that mark phases of a launch; 0 is not known.
type Found struct{ Init, Agent int64 }

// Find looks, between from and to, for the last execution of a process that
// still runs the agent's program and, if its parent is the first process of a PID
// namespace, of that. With several agents the first counts.
func Find(execs []Exec, agent string, from, to int64) Found {
	program, err := os.Stat(agent)
	if err != nil {
		return Found{}
	}
	last := map[int]int64{}
	for _, e := range execs {
		if e.At >= from && e.At <= to {
			last[e.PID] = e.At
		}
	}
	var found Found
	for pid, at := range last {
		runs, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err != nil || !os.SameFile(runs, program) || found.Agent != 0 && found.Agent < at {
			continue
		}
		found = Found{Agent: at}
		if parent, _ := family(pid); parent != 0 {
			if _, first := family(parent); first {
				found.Init = last[parent]
			}
		}
	}
	return found
}

// family returns the parent of the process, and whether it is the first of its PID namespace.
func family(pid int) (parent int, first bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, false
	}
	return parseFamily(string(text))
}

// parseFamily reads PPid and NSpid of proc_pid_status(5).
func parseFamily(status string) (parent int, first bool) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		ids := strings.Fields(value)
		if len(ids) == 0 {
			continue
		}
		switch name {
		case "PPid":
			parent, _ = strconv.Atoi(ids[0]) // 0 is no process
		case "NSpid":
			first = ids[len(ids)-1] == "1"
		}
	}
	return parent, first
}

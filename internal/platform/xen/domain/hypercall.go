// Package domain reads what Xen tells of its domains: how long their virtual
// CPUs ran. The control domain's kernel does not know of the others', nor of its own
// time that the hypervisor gave away.
package domain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Where the kernel takes hypercalls, and lends memory that the hypervisor can
// write to at any moment (drivers/xen/privcmd.c, privcmd-buf.c).
const (
	privcmd = "/dev/xen/privcmd"
	buffers = "/dev/xen/hypercall"
)

// Numbers of Xen's public headers (xen.h, sysctl.h) and Linux's privcmd.h.
const (
	hypercallIoctl = 48<<16 | 'P'<<8 // _IOC(_IOC_NONE, 'P', 0, sizeof(struct privcmd_hypercall))
	sysctl         = 35
	domainInfoList = 6
	oldestSysctl   = 0x0a // Xen 4.3
	newestSysctl   = 0x30
)

// Hypervisor asks Xen.
type Hypervisor struct {
	calls   *os.File
	memory  []byte // one page: the request, and from infoAt on the answer
	version uint32 // of the interface
}

const infoAt = 1024

// Open opens the way to the hypervisor. Where there is none, or this is not its
// control domain, the error wraps [bench.ErrUnavailable].
func Open() (*Hypervisor, error) {
	fail := func(err error) (*Hypervisor, error) {
		return nil, fmt.Errorf("ask the hypervisor: %w: %w", err, bench.ErrUnavailable)
	}
	calls, err := os.OpenFile(privcmd, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	h := &Hypervisor{calls: calls}
	lender, err := os.OpenFile(buffers, os.O_RDWR, 0)
	if err == nil {
		defer lender.Close()
		h.memory, err = unix.Mmap(int(lender.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		err = h.agree()
	}
	if err != nil {
		return fail(errors.Join(err, h.Close()))
	}
	return h, nil
}

// Close lets go of it.
func (h *Hypervisor) Close() error {
	var err error
	if h.memory != nil {
		err = unix.Munmap(h.memory)
		h.memory = nil
	}
	return errors.Join(err, h.calls.Close())
}

// agree finds the version of the interface. Each release of Xen takes one alone
// and refuses others by EACCES; the part used here is the same in all.
func (h *Hypervisor) agree() error {
	for h.version = oldestSysctl; h.version <= newestSysctl; h.version++ {
		_, err := h.Info(0)
		if !errors.Is(err, unix.EACCES) {
			return err
		}
	}
	return fmt.Errorf("no version of its interface from %#x to %#x is taken: %w", oldestSysctl, newestSysctl, unix.EACCES)
}

// Info is what the hypervisor knows of the domain of that number.
func (h *Hypervisor) Info(number int) (Info, error) {
	at := uint64(uintptr(unsafe.Pointer(&h.memory[0])))
	putRequest(h.memory, h.version, number, at+infoAt)
	call := [6]uint64{sysctl, at}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, h.calls.Fd(), hypercallIoctl, uintptr(unsafe.Pointer(&call)))
	runtime.KeepAlive(h)
	if errno != 0 {
		return Info{}, fmt.Errorf("domain %d: %w", number, errno)
	}
	if got := binary.LittleEndian.Uint32(h.memory[24:]); got != 1 {
		return Info{}, fmt.Errorf("domain %d: there is none: %w", number, unix.ESRCH)
	}
	return parseInfo(h.memory[infoAt:], number)
}

// putRequest writes struct xen_sysctl for XEN_SYSCTL_getdomaininfolist: at most
// one domain, the first whose number is not below.
func putRequest(p []byte, version uint32, number int, answer uint64) {
	clear(p)
	le := binary.LittleEndian
	le.PutUint32(p[0:], domainInfoList)
	le.PutUint32(p[4:], version)
	le.PutUint16(p[8:], uint16(number))
	le.PutUint32(p[12:], 1)
	le.PutUint64(p[16:], answer)
}

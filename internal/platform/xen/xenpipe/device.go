package xenpipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's devices (include/uapi/xen/{evtchn,gntalloc,gntdev}.h of Linux).
const (
	eventDevice = "/dev/xen/evtchn"
	grantDevice = "/dev/xen/gntalloc" // lends pages
	mapDevice   = "/dev/xen/gntdev"   // maps what others lend
)

// Their requests: _IOC(_IOC_NONE, letter, number, size of the argument).
const (
	bindInterdomain = 8<<16 | 'E'<<8 | 1
	bindUnbound     = 4<<16 | 'E'<<8 | 2
	notify          = 4<<16 | 'E'<<8 | 4
	mapGrantRef     = 24<<16 | 'G'<<8
	allocGref       = 24<<16 | 'G'<<8 | 5
)

// channel is an event channel by the kernel's device.
type channel struct {
	f    *os.File
	port uint32
}

// bind opens the device and makes the one port of this use of it.
func bind(request uint, arg unsafe.Pointer) (*channel, error) {
	f, err := os.OpenFile(eventDevice, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	port, err := ioctl(f, request, arg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bind event channel: %w", err), f.Close())
	}
	return &channel{f, uint32(port)}, nil
}

// bindAny makes a channel that the remote domain may bind to.
func bindAny(remote uint32) (*channel, error) { return bind(bindUnbound, unsafe.Pointer(&remote)) }

// bindTo binds to a channel that the remote domain made.
func bindTo(remote, port uint32) (*channel, error) {
	arg := [2]uint32{remote, port}
	return bind(bindInterdomain, unsafe.Pointer(&arg))
}

// ioctl asks without taking the file from Go's poller, so that Close ends a read.
func ioctl(f *os.File, request uint, arg unsafe.Pointer) (result uintptr, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var errno unix.Errno
	cerr := raw.Control(func(fd uintptr) {
		result, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), uintptr(arg))
	})
	if cerr == nil && errno != 0 {
		cerr = errno
	}
	return result, cerr
}

// Ring implements bell.
func (c *channel) Ring() error {
	_, err := ioctl(c.f, notify, unsafe.Pointer(&c.port))
	return err
}

// Wait implements bell: the device gives the port once it was rung, and takes it
// to listen again.
func (c *channel) Wait() error {
	var b [4]byte
	if _, err := c.f.Read(b[:]); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b[:], c.port)
	_, err := c.f.Write(b[:])
	return err
}

// Close implements bell.
func (c *channel) Close() error { return c.f.Close() }

// lend makes zeroed pages and grants them to the remote domain.
func lend(remote uint16) (mem []byte, refs []uint32, free func() error, err error) {
	// struct ioctl_gntalloc_alloc_gref; the references follow, the first inside.
	var arg struct {
		domain, flags uint16
		count         uint32
		index         uint64
		refs          [pages]uint32
	}
	const writable = 1
	arg.domain, arg.flags, arg.count = remote, writable, pages
	mem, free, err = pagesOf(grantDevice, allocGref, unsafe.Pointer(&arg), &arg.index)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("grant pages: %w", err)
	}
	return mem, arg.refs[:], free, nil
}

// borrow maps pages that the remote domain has granted.
func borrow(remote uint32, refs []uint32) (mem []byte, free func() error, err error) {
	// struct ioctl_gntdev_map_grant_ref
	var arg struct {
		count, _ uint32
		index    uint64
		refs     [pages]struct{ domain, ref uint32 }
	}
	arg.count = pages
	for i, ref := range refs {
		arg.refs[i].domain, arg.refs[i].ref = remote, ref
	}
	mem, free, err = pagesOf(mapDevice, mapGrantRef, unsafe.Pointer(&arg), &arg.index)
	if err != nil {
		return nil, nil, fmt.Errorf("map granted pages: %w", err)
	}
	return mem, free, nil
}

// pagesOf asks the device for the pages and maps them where it says they are.
func pagesOf(device string, request uint, arg unsafe.Pointer, index *uint64) (mem []byte, free func() error, err error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	if _, err = ioctl(f, request, arg); err == nil {
		// The kernel gives up a mapping of this device when a signal is pending, and Go's runtime sends some.
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			mem, err = unix.Mmap(int(f.Fd()), int64(*index), pages*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return mem, func() error { return errors.Join(unix.Munmap(mem), f.Close()) }, nil
}

package vm

import (
	"fmt"
	"io"
	"math"
)

// Modes of archive members, as in stat(2).
const (
	modeFile    = 0o100000
	modeDir     = 0o040000
	modeCharDev = 0o020000
)

// cpioWriter writes a cpio archive in the "newc" format, the one the kernel
// unpacks (Documentation/driver-api/early-userspace/buffer-format.rst). Every
// field but name and content is fixed, so equal input gives equal bytes.
type cpioWriter struct {
	w     io.Writer
	inode uint32
	off   int64
	err   error
}

// Dir adds a directory. A directory must come before what is in it.
func (c *cpioWriter) Dir(name string) { c.member(name, modeDir|0o755, 0, 0, nil) }

// File adds a regular file.
func (c *cpioWriter) File(name string, perm uint32, data []byte) {
	c.member(name, modeFile|perm, 0, 0, data)
}

// CharDev adds a character device.
func (c *cpioWriter) CharDev(name string, perm, major, minor uint32) {
	c.member(name, modeCharDev|perm, major, minor, nil)
}

// Close writes the trailer and returns the first error of all calls.
func (c *cpioWriter) Close() error {
	c.inode = math.MaxUint32 // the trailer's is 0
	c.member("TRAILER!!!", 0, 0, 0, nil)
	return c.err
}

func (c *cpioWriter) member(name string, mode, major, minor uint32, data []byte) {
	if c.err != nil {
		return
	}
	if int64(len(data)) > math.MaxUint32 {
		c.err = fmt.Errorf("cpio member %s: larger than 4 GiB", name)
		return
	}
	c.inode++
	const uid, gid, links, mtime, devMajor, devMinor, check = 0, 0, 1, 0, 0, 0, 0
	c.print("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		c.inode, mode, uid, gid, links, mtime, len(data),
		devMajor, devMinor, major, minor, len(name)+1, check, name)
	c.pad()
	c.write(data)
	c.pad()
}

func (c *cpioWriter) print(format string, args ...any) { c.write(fmt.Appendf(nil, format, args...)) }

func (c *cpioWriter) pad() { c.write(make([]byte, -c.off&3)) }

func (c *cpioWriter) write(p []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(p)
	c.off += int64(n)
	c.err = err
}

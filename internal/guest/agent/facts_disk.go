package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The results of a test of direct I/O.
const (
	directHonoured = "honoured"
	directIgnored  = "ignored" // accepted, but the data went to the page cache anyway
	directRefused  = "refused"
)

// scratch describes the file system of dir and tries direct I/O on it.
func (f *facts) scratch(dir string) {
	if t, ok := f.text("/proc/self/mountinfo"); ok {
		if fs, options, ok := mountOf(t, dir); ok {
			f.is["scratch_fs"], f.is["scratch_options"] = fs, options
		}
	}
	f.is["o_direct"] = tryDirect(filepath.Join(f.root, dir))
}

// mountOf finds the mount that holds dir in the text of a mountinfo file
// (proc_pid_mountinfo(5)): the deepest, and of several there the last.
func mountOf(mountinfo, dir string) (fs, options string, found bool) {
	best := -1
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 3 {
			continue
		}
		at := left[4]
		if under := strings.TrimSuffix(at, "/") + "/"; (dir == at || strings.HasPrefix(dir+"/", under)) && len(at) >= best {
			best, fs, options, found = len(at), right[0], left[5]+","+right[2], true
		}
	}
	return fs, options, found
}

// directBlock is a length and alignment that every disk takes for direct I/O.
const directBlock = 4096

// tryDirect writes and reads a block of a new file in dir with O_DIRECT, and checks whether the
// page cache holds it.
func tryDirect(dir string) string {
	path := filepath.Join(dir, fmt.Sprintf(".tare-direct-%d", os.Getpid()))
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	// The file may exist even if O_DIRECT was refused (open(2)).
	defer os.Remove(path)
	if err != nil {
		return directRefused + ": open: " + err.Error()
	}
	defer unix.Close(fd)
	// Anonymous memory begins at a page.
	block, err := unix.Mmap(-1, 0, directBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return directRefused + ": no memory: " + err.Error()
	}
	defer unix.Munmap(block)
	block[0] = 1
	if n, err := unix.Pwrite(fd, block, 0); err != nil || n != directBlock {
		return fmt.Sprintf("%s: write: %d bytes, %v", directRefused, n, err)
	}
	if n, err := unix.Pread(fd, block, 0); err != nil || n != directBlock {
		return fmt.Sprintf("%s: read: %d bytes, %v", directRefused, n, err)
	}
	cached, err := resident(fd)
	switch {
	case err != nil:
		return directHonoured + ": not verified: " + err.Error()
	case cached:
		return directIgnored
	}
	return directHonoured
}

// resident says whether the file's first page is in the page cache (mincore(2)).
func resident(fd int) (bool, error) {
	page, err := unix.Mmap(fd, 0, directBlock, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false, err
	}
	defer unix.Munmap(page)
	var in [1]byte
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&page[0])), directBlock, uintptr(unsafe.Pointer(&in[0])))
	if errno != 0 {
		return false, errno
	}
	return in[0]&1 != 0, nil
}

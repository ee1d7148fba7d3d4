// Package opened learns which files are opened on the host, and by which processes.
package opened

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// File is a file that was opened or executed, and the process that did it.
type File struct {
	PID  int
	Path string // in this process's mount namespace
}

// Watch has the kernel list what is opened on the host's file systems on disks (fanotify(7)). The
// list waits in the kernel until it is read, so that watching wakes nobody.
type Watch struct {
	fd     int
	mounts map[[2]int32]int // a mount's descriptor by the identifier of its file system
}

// Begin begins to watch. Only root in the host's own namespaces may; elsewhere, and before Linux
// 5.9, the error wraps [bench.ErrUnavailable].
func Begin() (*Watch, error) {
	fail := func(err error) error {
		return fmt.Errorf("watch which files are opened: %w: %w", err, bench.ErrUnavailable)
	}
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_UNLIMITED_QUEUE|unix.FAN_REPORT_DFID_NAME, 0)
	if err != nil {
		return nil, fail(err)
	}
	w := &Watch{fd: fd, mounts: map[[2]int32]int{}}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil {
		err = w.mark(onDisks(string(table)))
	}
	if err != nil {
		w.Close()
		return nil, fail(err)
	}
	return w, nil
}

// mark watches the file systems of the mount points. One that cannot be watched is an error if it
// is the root's, where programs are.
func (w *Watch) mark(points []string) error {
	for _, point := range points {
		err := w.add(point)
		if err != nil && point == "/" {
			return fmt.Errorf("file system of %s: %w", point, err)
		}
	}
	if len(w.mounts) == 0 {
		return errors.New("no file system is on a disk")
	}
	return nil
}

func (w *Watch) add(point string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(point, &fs); err != nil {
		return err
	}
	if _, ok := w.mounts[fs.Fsid.Val]; ok {
		return nil
	}
	at, err := unix.Open(point, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.FanotifyMark(w.fd, unix.FAN_MARK_ADD|unix.FAN_MARK_FILESYSTEM, unix.FAN_OPEN|unix.FAN_OPEN_EXEC, at, ""); err != nil {
		unix.Close(at)
		return err
	}
	w.mounts[fs.Fsid.Val] = at
	return nil
}

// Files returns what was opened since Begin or the last call: each regular file once for each
// process, as long as it has its name.
func (w *Watch) Files() ([]File, error) {
	var list []File
	seen := map[File]bool{}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN, err == nil && n == 0:
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("read which files were opened: %w", err)
		}
		events, err := parse(buf[:n])
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			f := File{PID: e.pid, Path: w.path(e)}
			if f.Path != "" && !seen[f] {
				seen[f] = true
				list = append(list, f)
			}
		}
	}
}

// path is that of an event's file; "" if it is gone, cannot be reached or is no regular file.
func (w *Watch) path(e event) string {
	at, ok := w.mounts[e.fs]
	if !ok {
		return ""
	}
	dir, err := unix.OpenByHandleAt(at, unix.NewFileHandle(e.kind, e.handle), unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return ""
	}
	defer unix.Close(dir)
	parent, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(dir))
	if err != nil {
		return ""
	}
	path := filepath.Join(parent, e.name)
	var here, there unix.Stat_t
	if unix.Lstat(path, &here) != nil || unix.Fstatat(dir, e.name, &there, unix.AT_SYMLINK_NOFOLLOW) != nil ||
		here.Dev != there.Dev || here.Ino != there.Ino || here.Mode&unix.S_IFMT != unix.S_IFREG {
		return ""
	}
	return path
}

// Close stops watching.
func (w *Watch) Close() error {
	errs := []error{unix.Close(w.fd)}
	for _, at := range w.mounts {
		errs = append(errs, unix.Close(at))
	}
	return errors.Join(errs...)
}

// event is one that the kernel reports: a process, and a name in a directory of a file system.
type event struct {
	pid    int
	fs     [2]int32
	kind   int32 // of the handle
	handle []byte
	name   string
}

// Of linux/fanotify.h: the header of an event, of a record in it, and a record's beginning with
// the identifier of the file system and the head of a file handle.
const (
	eventHeader  = 24
	recordHeader = 4
	recordHead   = recordHeader + 8 + 8
)

// parse reads events as read(2) returns them. Those without a directory and a name are left out.
func parse(b []byte) ([]event, error) {
	h := binary.NativeEndian
	var list []event
	for len(b) > 0 {
		if len(b) < eventHeader {
			return nil, fmt.Errorf("opened files: %d bytes are not an event", len(b))
		}
		size, head := int(h.Uint32(b)), int(h.Uint16(b[6:]))
		if version := b[4]; version != unix.FANOTIFY_METADATA_VERSION {
			return nil, fmt.Errorf("opened files: events of version %d, not %d", version, unix.FANOTIFY_METADATA_VERSION)
		}
		if size < eventHeader || size > len(b) || head < eventHeader || head > size {
			return nil, fmt.Errorf("opened files: an event of %d bytes in %d", size, len(b))
		}
		if h.Uint64(b[8:])&unix.FAN_Q_OVERFLOW != 0 {
			return nil, errors.New("opened files: some events are lost")
		}
		records, pid := b[head:size], int(int32(h.Uint32(b[20:])))
		for len(records) >= recordHeader {
			kind, size := records[0], int(h.Uint16(records[2:]))
			if size < recordHeader || size > len(records) {
				return nil, fmt.Errorf("opened files: a record of %d bytes in %d", size, len(records))
			}
			if kind == unix.FAN_EVENT_INFO_TYPE_DFID_NAME && size >= recordHead {
				if e, ok := named(records[recordHeader:size]); ok {
					e.pid = pid
					list = append(list, e)
				}
			}
			records = records[size:]
		}
		b = b[size:]
	}
	return list, nil
}

// named reads a record: the file system, the handle of a directory, and a name that ends in 0.
func named(b []byte) (event, bool) {
	h := binary.NativeEndian
	length := int(h.Uint32(b[8:]))
	if length > len(b)-16 {
		return event{}, false
	}
	e := event{fs: [2]int32{int32(h.Uint32(b)), int32(h.Uint32(b[4:]))}, kind: int32(h.Uint32(b[12:])), handle: b[16 : 16+length]}
	name, _, ended := strings.Cut(string(b[16+length:]), "\x00")
	e.name = name
	return e, ended && name != "" && name != "." && !strings.Contains(name, "/")
}

// onDisks returns, from the text of /proc/PID/mountinfo, the mount points of file systems on
// devices. A mount of a whole file system is before one of a part of it.
func onDisks(table string) (points []string) {
	var parts []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		i := slices.Index(fields, "-")
		if i < 6 || len(fields) < i+3 || !strings.HasPrefix(fields[i+2], "/") && fields[4] != "/" {
			continue
		}
		point := unescape(fields[4])
		if fields[3] == "/" {
			points = append(points, point)
		} else {
			parts = append(parts, point)
		}
	}
	return append(points, parts...)
}

// unescape undoes what mountinfo does to blanks and backslashes: \040 is a blank.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

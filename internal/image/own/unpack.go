package own

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tree"
)

// Unpack puts the image's root file system into dir, which must be empty, and nothing outside of it.
// More than limit bytes are an error, as is a layer that is not what the configuration names.
func (s *Source) Unpack(ctx context.Context, dir string, limit bench.Bytes) error {
	u, err := newUnpacker(ctx, dir, limit)
	if err != nil {
		return err
	}
	defer u.root.Close()
	if s.image == nil {
		r, w := io.Pipe()
		go func() { w.CloseWithError(s.archive(ctx, w, s.dir)) }() // ends with the reader
		got, err := u.layer(r)
		if err = errors.Join(err, r.Close()); err == nil && "sha256:"+got != s.id {
			err = fmt.Errorf("it has changed since it was read first: %w", bench.ErrInvalid)
		}
		return errors.Join(err, u.setTimes())
	}
	layers, err := s.image.Layers()
	if err != nil {
		return fmt.Errorf("%w: %w", bench.ErrInvalid, err)
	}
	if len(layers) != len(s.layers) {
		return fmt.Errorf("%d layers, and the configuration names %d: %w", len(layers), len(s.layers), bench.ErrInvalid)
	}
	for i, l := range layers {
		want := s.layers[i]
		r, err := l.Uncompressed()
		if err != nil {
			return fmt.Errorf("layer %d: %w: %w", i+1, bench.ErrInvalid, err)
		}
		got, err := u.layer(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
		if got != want.Hex {
			return fmt.Errorf("layer %d is not what the configuration names: sha256 %s, not %s: %w", i+1, got, want.Hex, bench.ErrInvalid)
		}
	}
	if s.config.Dir != "" { // a builder need not make it, and an engine does
		d, err := u.parent(path.Clean(s.config.Dir))
		if err != nil {
			return fmt.Errorf("make the working directory: %w", err)
		}
		d.Close()
	}
	return u.setTimes()
}

// unpacker writes below a directory, whatever the names and links in an archive say.
type unpacker struct {
	ctx   context.Context
	root  *os.File
	left  int64                // bytes of archives to read
	room  int64                // bytes of files to write
	files int                  // that may still come
	times map[string]time.Time // of directories, by path, set when all is there
	added map[string]bool      // by the layer that is read
}

// maxFiles bounds the files of an image.
const maxFiles = 4_000_000

func newUnpacker(ctx context.Context, dir string, limit bench.Bytes) (*unpacker, error) {
	root, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return &unpacker{ctx: ctx, root: root, left: int64(2 * limit), room: int64(limit), files: maxFiles, times: map[string]time.Time{}}, nil
}

// layer lays an archive over what is there, and returns its SHA-256. Names that begin with .wh.
// remove what lower layers have (the OCI image's layer specification).
func (u *unpacker) layer(r io.Reader) (digest string, err error) {
	u.added = map[string]bool{}
	h := sha256.New()
	r = io.TeeReader(&bounded{r, &u.left}, h)
	for t := tar.NewReader(r); ; {
		if err := u.ctx.Err(); err != nil {
			return "", context.Cause(u.ctx)
		}
		e, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", bench.ErrInvalid, err)
		}
		if u.files--; u.files < 0 {
			return "", fmt.Errorf("more than %d files: %w", maxFiles, bench.ErrInvalid)
		}
		if u.room -= e.Size; u.room < 0 { // a sparse file's holes are not in the archive
			return "", errRoom
		}
		if err := u.entry(e, t); err != nil {
			return "", fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // what lies behind the archive's end is hashed, too
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// errRoom is an image that the disk cannot hold.
var errRoom = fmt.Errorf("the image is larger than there is room for: %w%w", bench.ErrInvalid, bench.Hint("make room in the state directory, or choose another: --state"))

// bounded is a reader whose users may share what is left.
type bounded struct {
	r    io.Reader
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.left < 0 {
		return 0, errRoom
	}
	n, err := b.r.Read(p)
	*b.left -= int64(n)
	return n, err
}

const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

func (u *unpacker) entry(e *tar.Header, content io.Reader) error {
	name := path.Clean("/" + e.Name)
	if name == "/" {
		return u.adorn(u.root, ".", name, e)
	}
	dir, base := path.Split(name)
	parent, err := u.parent(path.Clean(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	switch {
	case base == opaque:
		return u.clear(path.Clean(dir))
	case strings.HasPrefix(base, whiteout):
		return u.remove(parent, strings.TrimPrefix(base, whiteout))
	}
	for at := name; at != "/"; at = path.Dir(at) {
		u.added[at] = true
	}
	info, err := lstat(parent, base)
	there := err == nil
	if there && !(e.Typeflag == tar.TypeDir && info.Mode&unix.S_IFMT == unix.S_IFDIR) {
		if err := u.remove(parent, base); err != nil {
			return err
		}
		there = false
	}
	if e.Typeflag == tar.TypeLink {
		return u.link(parent, base, e.Linkname)
	}
	if err := u.create(parent, base, e, content, there); err != nil {
		return err
	}
	return u.adorn(parent, base, name, e)
}

func lstat(parent *os.File, base string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(int(parent.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// create makes the file without its owner, mode and times.
func (u *unpacker) create(in *os.File, base string, e *tar.Header, content io.Reader, there bool) error {
	parent := int(in.Fd())
	switch e.Typeflag {
	case tar.TypeDir:
		if there {
			return nil
		}
		return unix.Mkdirat(parent, base, 0o755)
	case tar.TypeReg:
		fd, err := unix.Openat(parent, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), base)
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	case tar.TypeSymlink:
		return unix.Symlinkat(e.Linkname, parent, base)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		mode := map[byte]uint32{tar.TypeChar: unix.S_IFCHR, tar.TypeBlock: unix.S_IFBLK, tar.TypeFifo: unix.S_IFIFO}[e.Typeflag]
		return unix.Mknodat(parent, base, mode|0o600, int(unix.Mkdev(uint32(e.Devmajor), uint32(e.Devminor))))
	}
	return fmt.Errorf("a file of type %q: %w", e.Typeflag, bench.ErrInvalid)
}

// adorn gives a file its owner, mode, attributes and times.
func (u *unpacker) adorn(in *os.File, base, name string, e *tar.Header) error {
	parent := int(in.Fd())
	if e.Uid < 0 || e.Gid < 0 || int64(e.Uid) > math.MaxUint32 || int64(e.Gid) > math.MaxUint32 {
		return fmt.Errorf("owner %d:%d: %w", e.Uid, e.Gid, bench.ErrInvalid)
	}
	if err := unix.Fchownat(parent, base, e.Uid, e.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set the owner: %w", err)
	}
	if e.Typeflag != tar.TypeSymlink {
		if err := unix.Fchmodat(parent, base, uint32(e.Mode&0o7777), 0); err != nil {
			return fmt.Errorf("set the mode: %w", err)
		}
	}
	if e.Typeflag == tar.TypeReg || e.Typeflag == tar.TypeDir {
		for key, value := range e.PAXRecords {
			attr, ok := strings.CutPrefix(key, "SCHILY.xattr.")
			if !ok || attr != "security.capability" && !strings.HasPrefix(attr, "user.") {
				continue
			}
			if err := unix.Lsetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", parent, base), attr, []byte(value), 0); err != nil {
				return fmt.Errorf("set %s: %w", attr, err)
			}
		}
	}
	if e.Typeflag == tar.TypeDir { // what is put into it would change its time
		u.times[name] = e.ModTime
		return nil
	}
	at := unix.NsecToTimespec(e.ModTime.UnixNano())
	return unix.UtimesNanoAt(parent, base, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}

// setTimes gives the directories their times.
func (u *unpacker) setTimes() error {
	for name, at := range u.times {
		d, err := u.open(name)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) { // a layer above removed it
			continue
		}
		if err != nil {
			return err
		}
		ts := unix.NsecToTimeval(at.UnixNano())
		if err := errors.Join(unix.Futimes(int(d.Fd()), []unix.Timeval{ts, ts}), d.Close()); err != nil {
			return fmt.Errorf("set the time of %s: %w", name, err)
		}
	}
	return nil
}

// link makes a hard link to a file of the image.
func (u *unpacker) link(parent *os.File, base, to string) error {
	dir, target := path.Split(path.Clean("/" + to))
	from, err := u.open(path.Clean(dir))
	if err != nil {
		return err
	}
	defer from.Close()
	return unix.Linkat(int(from.Fd()), target, int(parent.Fd()), base, 0)
}

// open opens a directory of the image as a process in it would find it.
func (u *unpacker) open(dir string) (*os.File, error) {
	fd, err := unix.Openat2(int(u.root.Fd()), dir, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// parent opens a directory of the image, made if it is not there.
func (u *unpacker) parent(dir string) (*os.File, error) {
	d, err := u.open(dir)
	if !errors.Is(err, unix.ENOENT) || dir == "/" {
		return d, err
	}
	above, err := u.parent(path.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := unix.Mkdirat(int(above.Fd()), path.Base(dir), 0o755); err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return u.open(dir)
}

// remove removes a file or directory below parent. None that is there is no error.
func (u *unpacker) remove(parent *os.File, base string) error {
	if base == "" || base == "." || base == ".." {
		return fmt.Errorf("no name to remove: %w", bench.ErrInvalid)
	}
	return tree.RemoveAt(parent, base)
}

// clear removes what lower layers have in a directory.
func (u *unpacker) clear(dir string) error {
	d, err := u.open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		switch {
		case !u.added[at]:
			err = tree.RemoveAt(d, e.Name())
		case e.IsDir():
			err = u.clear(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

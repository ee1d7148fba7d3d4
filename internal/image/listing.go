package image

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Entry is one file of a tree as the digest sees it. Times are left out: they
// change nothing that runs.
type Entry struct {
	Path string // relative, slash separated
	Type byte   // 'd', 'f', 'l', 'c', 'b', 'p' or 's'
	Mode uint32 // permission, set-id and sticky bits
	UID  uint32
	GID  uint32
	Size int64 // of a regular file, bytes
	// Content is the SHA-256 of a regular file in hexadecimal, the target of
	// a link, or "major:minor" of a device.
	Content string
	// Attrs are the extended attributes that change how a file works
	// (security.capability, user.*), "name=hex" joined by commas.
	Attrs string
}

// line writes the entry in the canonical form: one line, tabs between fields,
// text quoted as in Go so that no name can pretend to be two lines.
func (e Entry) line() string {
	content := e.Content
	if e.Type == 'l' {
		content = strconv.Quote(content)
	}
	return fmt.Sprintf("%s\t%c\t%04o\t%d:%d\t%d\t%s\t%s",
		strconv.Quote(e.Path), e.Type, e.Mode, e.UID, e.GID, e.Size, content, e.Attrs)
}

// Listing is the canonical text of a set of entries, in order of path, under a
// head that names the recipe.
func Listing(recipe string, entries []Entry) []byte {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "tare-image/1\t%s\n", recipe)
	for _, e := range sorted {
		b.WriteString(e.line())
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// DigestOf is the digest of a listing.
func DigestOf(listing []byte) string {
	sum := sha256.Sum256(listing)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Scan lists the trees below dir, paths relative to dir, hashing files on
// every CPU this process may use. It does not cross symbolic links.
func Scan(ctx context.Context, dir string, trees ...string) ([]Entry, error) {
	var entries []Entry
	for _, tree := range trees {
		err := filepath.WalkDir(filepath.Join(dir, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			e, err := stat(dir, path)
			if err != nil {
				return err
			}
			entries = append(entries, e)
			return ctx.Err()
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", tree, err)
		}
	}
	return entries, hashAll(ctx, dir, entries)
}

// hashAll fills in the content of every regular file.
func hashAll(ctx context.Context, dir string, entries []Entry) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *Entry)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			buf := make([]byte, 256<<10)
			for e := range next {
				var err error
				if e.Content, err = hashFile(filepath.Join(dir, e.Path), buf); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range entries {
		if entries[i].Type == 'f' && ctx.Err() == nil {
			next <- &entries[i]
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

func hashFile(path string, buf []byte) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, buf); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stat describes one file, its content not yet hashed.
func stat(dir, path string) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Entry{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Path: rel, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.Type = 'd'
	case unix.S_IFREG:
		e.Type, e.Size = 'f', st.Size
	case unix.S_IFLNK:
		e.Type = 'l'
		if e.Content, err = os.Readlink(path); err != nil {
			return Entry{}, err
		}
	case unix.S_IFCHR, unix.S_IFBLK:
		e.Type = 'c'
		if st.Mode&unix.S_IFMT == unix.S_IFBLK {
			e.Type = 'b'
		}
		e.Content = fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	case unix.S_IFIFO:
		e.Type = 'p'
	case unix.S_IFSOCK:
		e.Type = 's'
	default:
		return Entry{}, fmt.Errorf("%s: unknown file type %#o", path, st.Mode&unix.S_IFMT)
	}
	if e.Type == 'f' || e.Type == 'd' {
		attrs, err := readAttrs(path)
		if err != nil {
			return Entry{}, err
		}
		names := make([]string, 0, len(attrs))
		for name, value := range attrs {
			names = append(names, name+"="+hex.EncodeToString([]byte(value)))
		}
		slices.Sort(names)
		e.Attrs = strings.Join(names, ",")
	}
	return e, nil
}

// readAttrs returns the extended attributes that belong to the image; labels
// of the host's security policy do not.
func readAttrs(path string) (map[string]string, error) {
	buf := make([]byte, 1024)
	n, err := unix.Llistxattr(path, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 64<<10) // the kernel's bound on the list of names
		n, err = unix.Llistxattr(path, buf)
	}
	if err == unix.ENOTSUP || n == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "llistxattr", Path: path, Err: err}
	}
	attrs := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		if name != "security.capability" && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 64<<10) // XATTR_SIZE_MAX
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return nil, &fs.PathError{Op: "lgetxattr " + name, Path: path, Err: err}
		}
		attrs[name] = string(value[:n])
	}
	return attrs, nil
}

// diffListings names the paths whose lines differ, in order.
func diffListings(want, got []byte) []string {
	w, g := lines(want), lines(got)
	var paths []string
	for path, line := range w {
		if g[path] != line {
			paths = append(paths, path)
		}
	}
	for path := range g {
		if _, ok := w[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// lines keys a listing's lines by their path, unquoted where it can be.
func lines(listing []byte) map[string]string {
	m := map[string]string{}
	s := bufio.NewScanner(bytes.NewReader(listing))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		path, rest, _ := strings.Cut(s.Text(), "\t")
		if p, err := strconv.Unquote(path); err == nil {
			path = p
		}
		m[path] = rest
	}
	return m
}

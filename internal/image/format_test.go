package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// listTar reads an archive back into entries.
func listTar(t *testing.T, r io.Reader) []Entry {
	t.Helper()
	var list []Entry
	files := map[string]Entry{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return list
		}
		must(t, err)
		e := Entry{Path: strings.TrimSuffix(h.Name, "/"), Mode: uint32(h.Mode), UID: uint32(h.Uid), GID: uint32(h.Gid)}
		var attrs []string
		for k, v := range h.PAXRecords {
			if name, ok := strings.CutPrefix(k, "SCHILY.xattr."); ok {
				attrs = append(attrs, name+"="+hex.EncodeToString([]byte(v)))
			}
		}
		slices.Sort(attrs)
		e.Attrs = strings.Join(attrs, ",")
		switch h.Typeflag {
		case tar.TypeDir:
			e.Type = 'd'
		case tar.TypeSymlink:
			e.Type, e.Content = 'l', h.Linkname
		case tar.TypeChar:
			e.Type, e.Content = 'c', fmt.Sprintf("%d:%d", h.Devmajor, h.Devminor)
		case tar.TypeFifo:
			e.Type = 'p'
		case tar.TypeLink:
			path := e.Path
			e = files[h.Linkname]
			e.Path = path
		case tar.TypeReg:
			sum := sha256.New()
			_, err := io.Copy(sum, tr)
			must(t, err)
			e.Type, e.Size, e.Content = 'f', h.Size, hex.EncodeToString(sum.Sum(nil))
			files[e.Path] = e
		default:
			t.Fatalf("%s has type %c", h.Name, h.Typeflag)
		}
		list = append(list, e)
	}
}

// scanTree lists a tree with paths relative to itself.
func scanTree(t *testing.T, dir string) []Entry {
	t.Helper()
	entries, err := Scan(context.Background(), dir, ".")
	must(t, err)
	return entries
}

func sameListing(t *testing.T, what string, want, got []Entry) {
	t.Helper()
	w, g := Listing("", want), Listing("", got)
	if paths := diffListings(w, g); len(paths) > 0 {
		wl, gl := lines(w), lines(g)
		t.Errorf("%s: %d files differ; %s:\n tree %s\n form %s", what, len(paths), paths[0], wl[paths[0]], gl[paths[0]])
	}
}

func TestArchiveHoldsTheTree(t *testing.T) {
	needRoot(t)
	root := filepath.Join(t.TempDir(), "root")
	plantTree(t, root)
	must(t, os.Link(filepath.Join(root, "usr/bin/hello"), filepath.Join(root, "usr/bin/hullo")))
	must(t, unix.Setxattr(filepath.Join(root, "usr/bin/hello"), "security.capability",
		[]byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0))
	var one, two bytes.Buffer
	must(t, Archive(context.Background(), &one, root))
	must(t, Archive(context.Background(), &two, root))
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("one tree, two archives")
	}
	sameListing(t, "tar", scanTree(t, root), listTar(t, &one))

	must(t, unix.Mknod(filepath.Join(root, "socket"), unix.S_IFSOCK|0o600, 0))
	if err := Archive(context.Background(), io.Discard, root); err == nil {
		t.Error("a socket went into the archive")
	}
}

// mountDisk mounts an ext4 image read-only and returns where.
func mountDisk(t *testing.T, disk string) string {
	t.Helper()
	at := t.TempDir()
	if out, err := exec.Command("mount", "-o", "ro,loop", "-t", "ext4", disk, at).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a loop device here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return at
}

// withoutLostFound drops what mkfs itself adds.
func withoutLostFound(entries []Entry) []Entry {
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Path == "lost+found" })
}

func TestFormsHoldTheSameBytes(t *testing.T) {
	s := fakeStore(t, "")
	ctx := context.Background()
	i := build(t, s)
	root, err := i.Root(ctx)
	must(t, err)
	want := scanTree(t, root)

	archive, err := i.Tar(ctx)
	must(t, err)
	disk, err := i.Disk(ctx)
	must(t, err)
	settled(t, s)
	f, err := os.Open(archive)
	must(t, err)
	defer f.Close()
	sameListing(t, "tar", want, listTar(t, f))
	sameListing(t, "disk", want, withoutLostFound(scanTree(t, mountDisk(t, disk))))

	// The same again from the same tree.
	before := i.formats()
	for _, name := range []string{tarFormat, diskFormat} {
		must(t, os.Remove(filepath.Join(i.dir, "forms", name)))
	}
	_, err = i.Tar(ctx)
	must(t, err)
	_, err = i.Disk(ctx)
	must(t, err)
	for name, f := range i.formats() {
		if f.SHA256 != before[name].SHA256 {
			t.Errorf("%s made twice from one tree: %s, then %s", name, before[name].SHA256, f.SHA256)
		}
	}
	must(t, i.Verify(ctx))
	must(t, overwrite(archive, 600, 'X'))
	if err := i.Verify(ctx); err == nil || !strings.Contains(err.Error(), tarFormat+" differs") {
		t.Errorf("verify with a tampered archive: %v", err)
	}
}

func TestFormCutShortDoesNotCount(t *testing.T) {
	s := fakeStore(t, "")
	ctx := context.Background()
	i := build(t, s)
	path, err := i.Tar(ctx)
	must(t, err)
	whole, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, 1000))
	again, err := i.Tar(ctx)
	must(t, err)
	if st, err := os.Stat(again); err != nil || st.Size() != whole.Size() {
		t.Errorf("a cut archive is handed out: %v, %v", st, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := i.Disk(cancelled); err == nil {
		t.Error("a disk although cancelled")
	}
	settled(t, s)
	if _, ok := i.formats()[diskFormat]; ok {
		t.Error("the cancelled disk counts as made")
	}
}

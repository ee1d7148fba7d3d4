package image

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// entries draws a set of entries with distinct paths.
func drawEntries(t *rapid.T) []Entry {
	paths := rapid.SliceOfNDistinct(rapid.StringN(1, 12, -1), 1, 12, rapid.ID[string]).Draw(t, "paths")
	var list []Entry
	for _, p := range paths {
		e := Entry{
			Path: p,
			Type: rapid.SampledFrom([]byte("dflcbps")).Draw(t, "type"),
			Mode: uint32(rapid.IntRange(0, 0o7777).Draw(t, "mode")),
			UID:  rapid.Uint32().Draw(t, "uid"),
			GID:  rapid.Uint32().Draw(t, "gid"),
			Size: rapid.Int64Range(0, 1<<40).Draw(t, "size"),
		}
		if e.Type == 'f' {
			e.Content = rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "hash")
		} else {
			e.Content = rapid.String().Draw(t, "target")
		}
		if e.Type != 'l' {
			e.Content = strings.Map(hexOnly, e.Content)
		}
		list = append(list, e)
	}
	return list
}

func hexOnly(r rune) rune {
	if strings.ContainsRune("0123456789abcdef:", r) {
		return r
	}
	return -1
}

func TestDigestIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawEntries(t)
		mixed := slices.Clone(list)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if a, b := Listing("r", list), Listing("r", mixed); !bytes.Equal(a, b) {
			t.Fatalf("the order of entries shows:\n%s\n%s", a, b)
		}
	})
}

func TestDigestSeesEveryField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawEntries(t)
		before := DigestOf(Listing("r", list))
		e := &list[rapid.IntRange(0, len(list)-1).Draw(t, "which")]
		switch rapid.IntRange(0, 8).Draw(t, "field") {
		case 0:
			e.Path += "x"
		case 1:
			e.Type = 'x'
		case 2:
			e.Mode ^= 1 << rapid.IntRange(0, 11).Draw(t, "bit")
		case 3:
			e.UID++
		case 4:
			e.GID++
		case 5:
			e.Size++
		case 6:
			e.Content += "0"
		case 7:
			e.Attrs += "user.a=00"
		case 8:
			list = append(list, Entry{Path: e.Path + "/new", Type: 'd'})
		}
		if after := DigestOf(Listing("r", list)); after == before {
			t.Fatalf("digest %s did not change", after)
		}
	})
}

// A name with line breaks and tabs must not make one tree look like another.
func TestListingCannotBeForged(t *testing.T) {
	two := []Entry{{Path: "a", Type: 'd'}, {Path: "b", Type: 'd'}}
	rest := strings.SplitN(string(Listing("r", two)), "\n", 2)[1]
	one := []Entry{{Path: strings.Trim(strings.TrimSuffix(rest, "\n"), `"`), Type: 'd'}}
	if bytes.Equal(Listing("r", one), Listing("r", two)) {
		t.Fatal("a path with line breaks reads as two entries")
	}
	if bytes.Equal(Listing("r", two), Listing("s", two)) {
		t.Fatal("the recipe does not show in the listing")
	}
}

// TestScanSeesTampering changes one thing in a real tree at a time.
func TestScanSeesTampering(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	plantTree(t, root)
	scan := func() []byte {
		t.Helper()
		entries, err := Scan(context.Background(), dir, "root")
		if err != nil {
			t.Fatal(err)
		}
		return Listing("r", entries)
	}
	first := scan()
	if again := scan(); !bytes.Equal(first, again) {
		t.Fatalf("two scans of one tree differ:\n%s\n%s", first, again)
	}
	hello := filepath.Join(root, "usr/bin/hello")
	for _, c := range []struct {
		name string
		do   func() error
		path string
	}{
		{"a byte, size and times kept", func() error { return overwrite(hello, 3, 'X') }, "root/usr/bin/hello"},
		{"mode", func() error { return os.Chmod(hello, 0o700) }, "root/usr/bin/hello"},
		{"set-user-id", func() error { return unix.Chmod(hello, 0o4700) }, "root/usr/bin/hello"},
		{"owner", func() error { return os.Chown(hello, 1, 0) }, "root/usr/bin/hello"},
		{"link target", func() error {
			os.Remove(filepath.Join(root, "bin"))
			return os.Symlink("usr/sbin", filepath.Join(root, "bin"))
		}, "root/bin"},
		{"a file more", func() error { return os.WriteFile(filepath.Join(root, "new\nfile"), nil, 0o644) }, "root/new\nfile"},
		{"a file less", func() error { return os.Remove(filepath.Join(root, "etc/empty")) }, "root/etc/empty"},
		{"device number", func() error {
			os.Remove(filepath.Join(root, "dev/null"))
			return unix.Mknod(filepath.Join(root, "dev/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
		}, "root/dev/null"},
		{"capability", func() error {
			v := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // cap_net_raw=ep
			return unix.Setxattr(hello, "security.capability", v, 0)
		}, "root/usr/bin/hello"},
	} {
		before := scan()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		after := scan()
		if got := diffListings(before, after); !slices.Equal(got, []string{c.path}) {
			t.Errorf("%s: differing paths %q, want %q", c.name, got, c.path)
		}
	}
}

func TestScanStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Scan(ctx, dir, "root"); err == nil {
		t.Fatal("no error from a cancelled scan")
	}
}

// plantTree makes a small tree with a file of every type a root file system has.
func plantTree(t testing.TB, root string) {
	t.Helper()
	for _, d := range []string{"usr/bin", "etc", "dev", "var/lib/dpkg"} {
		must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "usr/bin/hello"), []byte("#!/bin/sh\necho hello 1.2.3\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "etc/empty"), nil, 0o600))
	must(t, os.Symlink("usr/bin", filepath.Join(root, "bin")))
	must(t, unix.Mknod(filepath.Join(root, "dev/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	must(t, unix.Mkfifo(filepath.Join(root, "dev/initctl"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "usr/bin/long-name-"+strings.Repeat("x", 200)), []byte("long\n"), 0o644))
	for _, name := range slices.Sorted(maps.Keys(plantedFiles)) {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(plantedFiles[name]), 0o644))
	}
}

var plantedFiles = map[string]string{
	"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
	"var/lib/dpkg/status": "Package: hello\nStatus: install ok installed\nArchitecture: all\nVersion: 1.2.3-4\n" +
		"Description: a\n b\n\nPackage: gone\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\n",
}

// overwrite changes one byte and puts the file's times back.
func overwrite(path string, at int64, b byte) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b}, at); err != nil {
		return err
	}
	return os.Chtimes(path, st.ModTime(), st.ModTime())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: device nodes, owners and chroot")
	}
}

func BenchmarkListing(b *testing.B) {
	entries := make([]Entry, 10000)
	for i := range entries {
		entries[i] = Entry{Path: fmt.Sprintf("root/usr/lib/%05d", i), Type: 'f', Mode: 0o644, Content: strings.Repeat("a", 64)}
	}
	for b.Loop() {
		DigestOf(Listing("r", entries))
	}
}

package store_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// archiveOf is an archive of files of so much text, by name.
func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		h.Mode = 0o644
		text := strings.Repeat("x", int(h.Size))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// content is what is in a folder: the text of files by their paths, the lock and the report left out.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" || d.Name() == "report.html" {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		found[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestARunIsTheSameElsewhere(t *testing.T) {
	from, to := made(t), filepath.Join(t.TempDir(), "a", "b")
	var b bytes.Buffer
	if err := store.Pack(&b, from); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for _, length := range []int{0, 1, 511, 512, 5000, len(whole) / 2, len(whole) - 1500} {
		if err := store.Unpack(to, bytes.NewReader(whole[:length])); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("cut off after %d of %d bytes: %v", length, len(whole), err)
		}
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("cut off after %d bytes: it left %v", length, content(t, to))
		}
	}
	if err := store.Unpack(to, bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	was, is := content(t, from), content(t, to)
	if len(was) < 6 || len(was) != len(is) {
		t.Errorf("%d files were packed, %d are there", len(was), len(is))
	}
	for name, text := range was {
		if is[name] != text {
			t.Errorf("%s differs", name)
		}
	}
	r, err := store.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := store.Unpack(to, bytes.NewReader(whole)); err == nil {
		t.Error("unpacked over a run")
	}
}

func TestAnArchiveThatIsNoRunIsRefusedAndLeavesNothing(t *testing.T) {
	run := tar.Header{Name: "run.json", Size: 2}
	for name, archive := range map[string][]byte{
		"no archive":     []byte("#!/bin/sh\n"),
		"empty":          archiveOf(t),
		"no header":      archiveOf(t, tar.Header{Name: "plan.json"}),
		"twice":          archiveOf(t, tar.Header{Name: "plan.json"}, tar.Header{Name: "plan.json"}, run),
		"a path up":      archiveOf(t, tar.Header{Name: "samples/../../x"}, run),
		"absolute":       archiveOf(t, tar.Header{Name: "/etc/passwd"}, run),
		"another name":   archiveOf(t, tar.Header{Name: "report.html"}, run),
		"hidden":         archiveOf(t, tar.Header{Name: "samples/.x"}, run),
		"too deep":       archiveOf(t, tar.Header{Name: "output/a/b/c"}, run),
		"not deep":       archiveOf(t, tar.Header{Name: "output/a"}, run),
		"a link":         archiveOf(t, tar.Header{Name: "samples/a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, run),
		"a hard link":    archiveOf(t, tar.Header{Name: "samples/a", Typeflag: tar.TypeLink, Linkname: "/etc/shadow"}, run),
		"a device":       archiveOf(t, tar.Header{Name: "samples/a", Typeflag: tar.TypeChar}, run),
		"a directory":    archiveOf(t, tar.Header{Name: "output/", Typeflag: tar.TypeDir}, run),
		"control letter": archiveOf(t, tar.Header{Name: "samples/a\x1b[31m"}, run),
	} {
		dir := filepath.Join(t.TempDir(), "x")
		if err := store.Unpack(dir, bytes.NewReader(archive)); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it left %v", name, content(t, dir))
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "trials.jsonl", Size: 5 << 30, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := store.Unpack(filepath.Join(t.TempDir(), "x"), &b); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "more than 4 GiB") {
		t.Errorf("too large: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Name: "plan.json", Size: 3}, tar.Header{Name: "output/a/b", Size: 1}, tar.Header{Name: "run.json", Size: 2}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "x")
		err := store.Unpack(dir, bytes.NewReader(archive))
		entries, rerr := os.ReadDir(above)
		if rerr != nil || len(entries) > 1 || err != nil && len(entries) > 0 {
			t.Errorf("%v: left %v, %v", err, entries, rerr)
		}
	})
}

// made is the folder of a run with some trials.
func made(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	if err := storetest.Synthetic(t, dir, storetest.Options{Cases: []string{storetest.Cases()[0]}, Blocks: 2, Seconds: 2, FailEvery: 3}).Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

package image

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// A fetched file is in the tree if it is the one that is meant, and a download that failed is tried again.
func TestFetch(t *testing.T) {
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch {
		case r.URL.Path == "/none" || r.URL.Path == "/late" && asked["/late"] == 1:
			http.NotFound(w, r)
		case r.URL.Path == "/cut":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("a jar"))
		case r.URL.Path == "/endless":
			for range maxFetched>>20 + 2 {
				w.Write(make([]byte, 1<<20))
			}
		default:
			w.Write([]byte("a jar"))
		}
	}))
	defer server.Close()
	sum := sha256.Sum256([]byte("a jar"))
	for _, c := range []struct{ repository, at, sum, says string }{
		{server.URL, "there", hex.EncodeToString(sum[:]), ""},
		{server.URL, "late", hex.EncodeToString(sum[:]), ""},
		{server.URL, "there", strings.Repeat("0", 64), "its SHA-256 is " + hex.EncodeToString(sum[:])},
		{server.URL + "/", "none", hex.EncodeToString(sum[:]), "404 Not Found"},
		{server.URL, "cut", hex.EncodeToString(sum[:]), "unexpected EOF"},
		{server.URL, "endless", hex.EncodeToString(sum[:]), "more than 64 MiB"},
		{"http://127.0.0.1:1", "refused", hex.EncodeToString(sum[:]), "connection refused"},
	} {
		work := t.TempDir()
		t.Setenv(mavenKey, c.repository)
		s := &Store{Recipe: Recipe{Fetched: []Fetched{{Path: "usr/share/x/a.jar", At: c.at, SHA256: c.sum}}}}
		err := s.takePinned(t.Context(), work)
		data, readErr := os.ReadFile(filepath.Join(work, "root/usr/share/x/a.jar"))
		switch {
		case c.says == "" && (err != nil || readErr != nil || !bytes.Equal(data, []byte("a jar"))):
			t.Errorf("%s/%s: %v, %q, %v", c.repository, c.at, err, data, readErr)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || readErr == nil):
			t.Errorf("%s/%s: %v, want %q; in the tree %v", c.repository, c.at, err, c.says, readErr == nil)
		}
	}
}

// The archive in a jar is unpacked in its place: its files alone, and none out of the tree.
func TestFetchUnpacks(t *testing.T) {
	jar := func(names ...string) []byte {
		var inner, outer bytes.Buffer
		packed := gzip.NewWriter(&inner)
		files := tar.NewWriter(packed)
		for _, name := range names {
			h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: 3}
			if name == "link" {
				h = tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: "/etc/passwd"}
			}
			if err := files.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				files.Write([]byte("abc"))
			}
		}
		files.Close()
		packed.Close()
		z := zip.NewWriter(&outer)
		w, err := z.Create("inner.tar.gz")
		if err != nil {
			t.Fatal(err)
		}
		w.Write(inner.Bytes())
		z.Close()
		return outer.Bytes()
	}
	f := Fetched{Path: "opt/x", Archive: "inner.tar.gz"}
	root := t.TempDir()
	if err := f.unpack(jar("bin/x", "link"), root); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(root, "opt/x/bin/x"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(filepath.Join(root, "opt/x/link")); err == nil {
		t.Error("a link was unpacked")
	}
	for says, data := range map[string][]byte{"leads out": jar("../x"), "not a valid zip": []byte("a jar")} {
		if err := f.unpack(data, t.TempDir()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	other := Fetched{Path: "opt/x", Archive: "other.tar.gz"}
	if err := other.unpack(jar("bin/x"), t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another archive: %v", err)
	}
}

// A repository is looked for before the build, and must have an address.
func TestNeedRepository(t *testing.T) {
	for address, says := range map[string]string{
		"https://host/maven": "", "http://127.0.0.1:1": "", "": "no Maven repository is named",
		"host/maven": `"host/maven" is not the address`, "https://%zz": `"https://%zz" is not`, "file:///etc": "is not the address",
	} {
		err := needRepository(address)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(bench.HintOf(err), mavenKey)) {
			t.Errorf("%q: %v, want %q", address, err, says)
		}
	}
}

// What is fetched is pinned, and travels unchanged.
func TestFetchedIsPinned(t *testing.T) {
	for _, f := range Families {
		for _, x := range f.Fetched {
			if b, err := hex.DecodeString(x.SHA256); err != nil || len(b) != sha256.Size || !filepath.IsLocal(x.At) || filepath.IsAbs(x.Path) {
				t.Errorf("%s: %+v", f.Name, x)
			}
		}
	}
}

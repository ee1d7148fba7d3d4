package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
		root := t.TempDir()
		s := &Store{Recipe: Recipe{Fetched: []Fetched{{"usr/share/x/a.jar", c.at, c.sum}}}}
		err := s.fetch(t.Context(), root, c.repository)
		data, readErr := os.ReadFile(filepath.Join(root, "usr/share/x/a.jar"))
		switch {
		case c.says == "" && (err != nil || readErr != nil || !bytes.Equal(data, []byte("a jar"))):
			t.Errorf("%s/%s: %v, %q, %v", c.repository, c.at, err, data, readErr)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || readErr == nil):
			t.Errorf("%s/%s: %v, want %q; in the tree %v", c.repository, c.at, err, c.says, readErr == nil)
		}
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

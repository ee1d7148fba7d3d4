package image

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestManifestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z][a-z0-9.+~:-]{0,12}`)
		m := Manifest{
			Format:     manifestFormat,
			Digest:     "sha256:" + rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "digest"),
			Recipe:     Golden(),
			RecipeHash: rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "recipe"),
			Created:    time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), 0).UTC(),
			Builder:    rapid.MapOf(word, word).Draw(t, "builder"),
			Programs:   rapid.MapOf(word, word).Draw(t, "programs"),
			Kernel:     rapid.OneOf(rapid.Just(""), word).Draw(t, "kernel"),
			Files:      rapid.IntRange(0, 1e6).Draw(t, "files"),
			Bytes:      rapid.Int64Range(0, 1e12).Draw(t, "bytes"),
			Packages: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Package {
				return Package{word.Draw(t, "name"), word.Draw(t, "version"), word.Draw(t, "arch")}
			}), 1, 5).Draw(t, "packages"),
		}
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeManifest(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Fatal(d)
		}
	})
}

func goodManifest(t testing.TB) []byte {
	t.Helper()
	data, err := Manifest{Format: manifestFormat, Digest: "sha256:" + strings.Repeat("a", 64),
		RecipeHash: strings.Repeat("b", 64), Recipe: Golden()}.Encode()
	must(t, err)
	return data
}

func TestDecodeManifestRefuses(t *testing.T) {
	good := string(goodManifest(t))
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "EOF"},
		{"cut off", good[:len(good)/2], "unexpected EOF"},
		{"two of them", good + good, "more text"},
		{"other format", strings.Replace(good, manifestFormat, "tare-image/9", 1), `format "tare-image/9"`},
		{"short digest", strings.Replace(good, "sha256:aaa", "sha256:", 1), "64 hexadecimal digits"},
		{"no recipe hash", strings.Replace(good, strings.Repeat("b", 64), "", 1), `recipe hash ""`},
		{"negative size", strings.Replace(good, `"bytes": 0`, `"bytes": -1`, 1), "-1 bytes"},
		{"unknown field", strings.Replace(good, `"files"`, `"filez"`, 1), "filez"},
	} {
		_, err := DecodeManifest([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add(goodManifest(f))
	f.Add([]byte(`{"format":"tare-image/1"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeManifest(again); err != nil {
			t.Fatalf("what was accepted is refused when written again: %v\n%s", err, again)
		}
	})
}

func TestParsePackages(t *testing.T) {
	f, err := os.Open("testdata/dpkg-status") // the head of a real one, one package of it removed
	must(t, err)
	defer f.Close()
	got, err := parsePackages(f)
	must(t, err)
	want := []Package{{"apt", "3.0.4", "amd64"}, {"base-files", "13.8+deb13u7", "amd64"}, {"bash", "5.2.37-2+b10", "amd64"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	for _, bad := range []string{"no field\n", "Package: a\nStatus: install ok installed\n"} {
		if got, err := parsePackages(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: no error, packages %v", bad, got)
		}
	}
}

func FuzzParsePackages(f *testing.F) {
	f.Add([]byte(plantedFiles["var/lib/dpkg/status"]))
	f.Add([]byte("Package:\n\n \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		packages, err := parsePackages(bytes.NewReader(data))
		if err != nil && packages != nil && len(packages) > len(data) {
			t.Fatal("more packages than text")
		}
		for _, p := range packages {
			if err == nil && (p.Name == "" || p.Version == "") {
				t.Fatalf("package without name or version: %+v", p)
			}
		}
	})
}

func TestRecipeHashSeesEveryChange(t *testing.T) {
	base := Golden()
	if base.Hash() != Golden().Hash() {
		t.Fatal("the recipe's hash is not stable")
	}
	for name, change := range map[string]func(*Recipe){
		"format":   func(r *Recipe) { r.Format++ },
		"suite":    func(r *Recipe) { r.Suite = "forky" },
		"package":  func(r *Recipe) { r.Packages = append([]string{"hello"}, r.Packages...) },
		"exclude":  func(r *Recipe) { r.Exclude = nil },
		"file":     func(r *Recipe) { r.Files = map[string]string{"etc/hostname": "x"} },
		"script":   func(r *Recipe) { r.Script += "#" },
		"hook":     func(r *Recipe) { r.Hooks = []string{"#!/bin/sh"} },
		"programs": func(r *Recipe) { r.Programs = r.Programs[1:] },
	} {
		r := Golden()
		change(&r)
		if r.Hash() == base.Hash() {
			t.Errorf("a change of %s does not show in the hash", name)
		}
	}
}

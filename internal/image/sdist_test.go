package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"tare/internal/bench"
)

// sdistOf makes an archive of files by name, executable where the text begins with #!.
func sdistOf(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		mode := int64(0o640)
		if len(text) > 1 && text[:2] == "#!" {
			mode = 0o750
		}
		must(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		must(t, err)
	}
	must(t, w.WriteHeader(&tar.Header{Name: "x-1.0/bin/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}))
	must(t, errors.Join(w.Close(), z.Close()))
	return &b
}

// What is taken lies where the recipe says, and nothing else does, whatever names the archive has.
func TestUnpackSdist(t *testing.T) {
	d := Sdist{Name: "x", Version: "1.0", Take: map[string]string{"deps/jars": "opt/x/jars", "bin": "opt/x/bin"}, Leave: []string{"hive-*", "repl"}}
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	must(t, d.unpack(sdistOf(t, map[string]string{
		"x-1.0/deps/jars/core.jar": "core", "x-1.0/deps/jars/deep/in.jar": "in", "x-1.0/bin/run": "#!/bin/sh",
		"x-1.0/deps/jars/hive-exec.jar": "h", "x-1.0/deps/jars/repl/r.jar": "r", "x-1.0/setup.py": "s", "x-1.0/deps/jarsmith/a": "a",
		"x-1.0/bin/../../../outside": "o", "/x-1.0/bin/absolute": "a", "y-1.0/bin/other": "y",
	}), root))
	found := map[string]string{}
	must(t, filepath.WalkDir(filepath.Dir(root), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		must(t, err)
		text, err := os.ReadFile(path)
		must(t, err)
		name, err := filepath.Rel(root, path)
		must(t, err)
		found[name] = info.Mode().String() + " " + string(text)
		return nil
	}))
	want := map[string]string{"opt/x/jars/core.jar": "-rw-r--r-- core", "opt/x/jars/deep/in.jar": "-rw-r--r-- in", "opt/x/bin/run": "-rwxr-xr-x #!/bin/sh"}
	for name, w := range want {
		if found[name] != w {
			t.Errorf("%s is %q, not %q", name, found[name], w)
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %v", found)
	}
}

func TestUnpackSdistThatLacksSomething(t *testing.T) {
	d := Sdist{Name: "x", Version: "1.0", Take: map[string]string{"bin": "opt/bin", "jars": "opt/jars"}}
	if err := d.unpack(sdistOf(t, map[string]string{"x-1.0/bin/run": "r"}), t.TempDir()); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("without jars: %v", err)
	}
	whole := sdistOf(t, map[string]string{"x-1.0/bin/run": "r", "x-1.0/jars/j": "jar"}).Bytes()
	for _, n := range []int{0, 5, 40, len(whole) / 2, len(whole) - 9} {
		if err := d.unpack(bytes.NewReader(whole[:n]), t.TempDir()); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", n, len(whole))
		}
	}
}

// What is downloaded is pinned, and is told with a version by the manifest.
func TestSdistsOfFamilies(t *testing.T) {
	for _, f := range Families {
		for _, d := range f.Sdists {
			if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(d.SHA256) || d.Version == "" || len(d.Take) == 0 {
				t.Errorf("%s: %+v", f.Name, d)
			}
		}
	}
}

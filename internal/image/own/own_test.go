package own

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/bench"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// archiveOf is a tar archive of the entries; the content of a file is its name unless it has a size.
func archiveOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		content := []byte(h.Name)
		if h.Typeflag != tar.TypeReg {
			content = nil
		} else if h.Size > 0 {
			content = make([]byte, h.Size)
		}
		h.Size = int64(len(content))
		must(t, w.WriteHeader(&h))
		_, err := w.Write(content)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// imageOf is an image of layers, for this machine unless change says otherwise.
func imageOf(t testing.TB, change func(*v1.ConfigFile), layers ...[]byte) v1.Image {
	t.Helper()
	image := empty.Image
	for _, text := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		must(t, err)
		image, err = mutate.AppendLayers(image, l)
		must(t, err)
	}
	c, err := image.ConfigFile()
	must(t, err)
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", runtime.GOARCH
	c.Config = v1.Config{Entrypoint: []string{"/app"}, Cmd: []string{"serve"}, Env: []string{"A=1", "PATH=/bin"}, User: "7:8", WorkingDir: "/srv"}
	if change != nil {
		change(c)
	}
	image, err = mutate.ConfigFile(image, c)
	must(t, err)
	return image
}

// forms writes an image in every form that is read from a path.
func forms(t testing.TB, image v1.Image) map[string]string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"archive": filepath.Join(dir, "a.tar"), "compressed archive": filepath.Join(dir, "a.tgz"), "layout": filepath.Join(dir, "layout")}
	must(t, tarball.WriteToFile(all["archive"], nil, image))
	text, err := os.ReadFile(all["archive"])
	must(t, err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(text)
	must(t, err)
	must(t, z.Close())
	must(t, os.WriteFile(all["compressed archive"], b.Bytes(), 0o644))
	p, err := layout.Write(all["layout"], empty.Index)
	must(t, err)
	must(t, p.AppendImage(image))
	return all
}

// plainArchive archives the regular files of a directory, for tests.
func plainArchive(_ context.Context, w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	if err := t.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return t.Close()
}

// unpacked are the files of an image: mode, owner, what is in it or where it leads.
func unpacked(t *testing.T, from string) (files []string, s *Source) {
	t.Helper()
	s, err := Open(t.Context(), from, t.TempDir(), plainArchive)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	dir := t.TempDir()
	must(t, s.Unpack(t.Context(), dir, bench.GiB))
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String() + " " + path[len(dir):]
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			must(t, err)
			what += " -> " + to
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			must(t, err)
			what += " " + string(text)
		}
		files = append(files, what)
		return nil
	}))
	return files, s
}

func TestUnpack(t *testing.T) {
	below := archiveOf(t, tar.Header{Name: "srv", Typeflag: tar.TypeDir}, tar.Header{Name: "srv/old"}, tar.Header{Name: "srv/stays", Mode: 0o4755},
		tar.Header{Name: "gone/deep/file"}, tar.Header{Name: "cleared/a"}, tar.Header{Name: "cleared/b/c"},
		tar.Header{Name: "var/run", Typeflag: tar.TypeSymlink, Linkname: "/run"}, tar.Header{Name: "run", Typeflag: tar.TypeDir}, tar.Header{Name: "becomes", Typeflag: tar.TypeDir})
	above := archiveOf(t, tar.Header{Name: "srv/.wh.old"}, tar.Header{Name: ".wh.gone"}, tar.Header{Name: "cleared/b/new"}, tar.Header{Name: "cleared/.wh..wh..opq"},
		tar.Header{Name: "var/run/through"}, tar.Header{Name: "becomes"}, tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "srv/stays"},
		tar.Header{Name: "./app"}, tar.Header{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "../../../etc"}, tar.Header{Name: "out/passwd"})
	want := []string{"-rwxr-xr-x /app ./app", "-rwxr-xr-x /becomes becomes", "drwxr-xr-x /cleared", "drwxr-xr-x /cleared/b", "-rwxr-xr-x /cleared/b/new cleared/b/new",
		"drwxr-xr-x /etc", "-rwxr-xr-x /etc/passwd out/passwd", "urwxr-xr-x /hard srv/stays", "Lrwxrwxrwx /out -> ../../../etc",
		"drwxr-xr-x /run", "-rwxr-xr-x /run/through var/run/through", "drwxr-xr-x /srv", "urwxr-xr-x /srv/stays srv/stays", "drwxr-xr-x /var", "Lrwxrwxrwx /var/run -> /run"}
	// The link leads nowhere until there is an etc: in the image, and not on this host.
	above = append(archiveOf(t, tar.Header{Name: "etc", Typeflag: tar.TypeDir})[:512], above...)
	image := imageOf(t, nil, below, above)
	id, err := image.ConfigName()
	must(t, err)
	for form, path := range forms(t, image) {
		got, s := unpacked(t, path)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", form, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if c := s.Config(); s.ID() != id.String() || fmt.Sprint(c) != "{[/app] [serve] map[A:1 PATH:/bin] 7:8 /srv}" {
			t.Errorf("%s: %s %v", form, s.ID(), c)
		}
	}
}

// A directory is an image of one layer. One that changed meanwhile is not the one that was planned with.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "usr/bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "usr/bin/x"), []byte("x"), 0o755))
	if got, _ := unpacked(t, dir); !slices.Contains(got, "-rwxr-xr-x /usr/bin/x x") {
		t.Errorf("unpacked %q", got)
	}
	s, err := Open(t.Context(), dir, t.TempDir(), plainArchive)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "usr/bin/x"), []byte("y"), 0o755))
	if err := s.Unpack(t.Context(), t.TempDir(), bench.GiB); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("unpacked what had changed: %v", err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, text, 0o644))
		return path
	}
	must(t, os.Mkdir(filepath.Join(dir, "nothing"), 0o755))
	good := archiveOf(t, tar.Header{Name: "app"})
	other := forms(t, imageOf(t, func(c *v1.ConfigFile) { c.Architecture = "s390x" }, good))
	for name, c := range map[string]struct{ from, says string }{
		"none":                 {filepath.Join(dir, "none"), "there is no such file"},
		"a directory of none":  {filepath.Join(dir, "nothing"), "no OCI layout"},
		"no archive":           {file("text", bytes.Repeat([]byte("text "), 200)), "not a tar archive"},
		"empty":                {file("empty", nil), "it is empty"},
		"zeros":                {file("zeros", make([]byte, 10<<20)), "without a manifest.json"},
		"an archive of none":   {file("a.tar", good), "without a manifest.json"},
		"another machine":      {other["archive"], "linux/s390x"},
		"another machine's":    {other["layout"], "s390x"},
		"an option":            {"docker:--help", "no name of an image"},
		"no configuration":     {file("c.tar", manifested(t, `[{"Config":"c.json","Layers":[]}]`)), `configuration "c.json" is not there once`},
		"a linked one":         {file("l.tar", append(archiveOf(t, tar.Header{Name: "c.json", Typeflag: tar.TypeSymlink, Linkname: "huge"})[:512], manifested(t, `[{"Config":"./c.json","Layers":[]}]`)...)), "is not there once"},
		"two manifests":        {file("t.tar", append(manifested(t, `[]`)[:1024], manifested(t, `[{"Config":"c.json"}]`)...)), "there twice"},
		"several":              {file("s.tar", manifested(t, `[{"Config":"a"},{"Config":"b"}]`)), "2 images"},
		"a manifest of no use": {file("m.tar", manifested(t, `{`)), "manifest.json"},
	} {
		s, err := Open(t.Context(), c.from, dir, plainArchive)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// manifested is an archive whose manifest is the text.
func manifested(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Name: "manifest.json", Mode: 0o644, Size: int64(len(text))}))
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		layer []byte
		says  string
	}{
		"too large":     {archiveOf(t, tar.Header{Name: "zeros", Size: 3 << 20}), "larger than there is room"},
		"a link to out": {archiveOf(t, tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "../../../../etc/passwd"}), "no such file"},
		"no archive":    {[]byte(strings.Repeat("text ", 300)), "invalid tar header"},
		"a socket":      {archiveOf(t, tar.Header{Name: "s", Typeflag: tar.TypeCont}), "a file of type"},
		"below a file":  {archiveOf(t, tar.Header{Name: "a"}, tar.Header{Name: "a/b"}), "not a directory"},
	} {
		s, err := Open(t.Context(), forms(t, imageOf(t, nil, c.layer))["archive"], "", nil)
		must(t, err)
		dir := t.TempDir()
		if err := s.Unpack(t.Context(), dir, bench.MiB); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// A layer is what the configuration says, or nothing is run.
func TestUnpackChecksDigests(t *testing.T) {
	text := archiveOf(t, tar.Header{Name: "app"})
	image := imageOf(t, func(c *v1.ConfigFile) {
		sum := sha256.Sum256([]byte("another"))
		c.RootFS.DiffIDs[0] = v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sum)}
	}, text)
	path := filepath.Join(t.TempDir(), "layout")
	p, err := layout.Write(path, empty.Index)
	must(t, err)
	must(t, p.AppendImage(image))
	s, err := Open(t.Context(), path, "", nil)
	must(t, err)
	if err := s.Unpack(t.Context(), t.TempDir(), bench.MiB); err == nil || !strings.Contains(err.Error(), "is not what the configuration names") {
		t.Errorf("unpacked: %v", err)
	}
}

// Nothing is written outside, whatever the archive says.
func FuzzLayer(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, tar.Header{Name: "a/b"}))
	f.Add(archiveOf(f, tar.Header{Name: "../x"}, tar.Header{Name: ".wh..."}, tar.Header{Name: "d/.wh..wh..opq"}))
	f.Add(archiveOf(f, tar.Header{Name: "p", Typeflag: tar.TypeFifo}, tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "p"}))
	f.Fuzz(func(t *testing.T, text []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "root")
		must(t, os.Mkdir(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(top, "witness"), []byte("w"), 0o600))
		u, err := newUnpacker(t.Context(), dir, bench.MiB)
		must(t, err)
		defer u.root.Close()
		if _, err := u.layer(bytes.NewReader(text)); err == nil {
			_ = u.setTimes() // an image that cannot be used is one more refusal
		}
		names, err := os.ReadDir(top)
		must(t, err)
		if text, err := os.ReadFile(filepath.Join(top, "witness")); len(names) != 2 || err != nil || string(text) != "w" {
			t.Errorf("beside the root: %v, %q, %v", names, text, err)
		}
	})
}

// An engine without its daemon is told from an image that is not there.
func TestEngineWithoutItsDaemon(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for says, hint := range map[string]string{
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?": "systemctl start docker",
		"Error response from daemon: reference does not exist":                                              "",
	} {
		script := "#!/bin/sh\necho '" + says + "' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), "docker:app", t.TempDir(), nil)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(bench.HintOf(err), hint) || hint == "" && bench.HintOf(err) != "" {
			t.Errorf("%v, hint %q; want %q", err, bench.HintOf(err), hint)
		}
	}
}

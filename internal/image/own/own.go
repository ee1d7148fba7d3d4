// Package own reads images of the user's own: what docker save wrote, an OCI layout, a root file
// system, or an image of a container engine on this host. They may be anybody's, so all that is read
// is bounded and checked, and nothing is written but below the directory that is given.
package own

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/host/tree"
)

// Source is an image that can be unpacked.
type Source struct {
	id      string
	config  bench.ImageConfig
	image   v1.Image  // nil for a directory
	layers  []v1.Hash // of its layers' archives
	dir     string
	archive Archiver
	saved   *os.File // what an engine saved, a file without a name
}

// Archiver writes a directory's tree as a tar archive, the same for the same tree.
type Archiver func(ctx context.Context, w io.Writer, dir string) error

// ID identifies the image: the digest of its configuration, which names its layers, as engines show
// it; of a directory that of its archive.
func (s *Source) ID() string { return s.id }

// Config is how its programs are run.
func (s *Source) Config() bench.ImageConfig { return s.config }

// Close lets go of the image.
func (s *Source) Close() error {
	if s.saved == nil {
		return nil
	}
	return s.saved.Close()
}

// engines are those whose images can be taken, with the command that writes one to standard output.
var engines = map[string][]string{
	"docker":     {"docker", "image", "save"},
	"podman":     {"podman", "image", "save", "--quiet", "--format=docker-archive"},
	"containerd": {"ctr", "--namespace=default", "image", "export", "-"},
}

// unreached is what engines say whose daemon is not there: docker's client and ctr.
var unreached = []string{"Cannot connect to the Docker daemon", "failed to dial"}

// Open finds the image that from names: docker:NAME, podman:NAME, containerd:NAME, or a path. temp is
// a directory with room for what an engine saves. An image that cannot be used wraps [bench.ErrInvalid].
func Open(ctx context.Context, from, temp string, archive Archiver) (*Source, error) {
	s, err := open(ctx, from, temp, archive)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", from, err)
	}
	if s.image != nil {
		if err := s.describe(); err != nil {
			return nil, errors.Join(fmt.Errorf("image %s: %w", from, err), s.Close())
		}
	}
	return s, nil
}

func open(ctx context.Context, from, temp string, archive Archiver) (*Source, error) {
	if engine, name, ok := strings.Cut(from, ":"); ok && engines[engine] != nil {
		return ofEngine(ctx, engine, name, temp)
	}
	info, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no such file: %w%w", bench.ErrInvalid,
			bench.Hint("an image of this host's Docker is docker:"+from+"; podman: and containerd: work likewise"))
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return ofArchive(ctx, func() (io.ReadCloser, error) { return os.Open(from) })
	case !info.IsDir():
		return nil, fmt.Errorf("neither an archive nor a directory: %w", bench.ErrInvalid)
	}
	if _, err := os.Stat(filepath.Join(from, "oci-layout")); err == nil {
		return ofLayout(from)
	}
	return ofTree(ctx, from, archive)
}

// ofTree takes a root file system.
func ofTree(ctx context.Context, dir string, archive Archiver) (*Source, error) {
	if !slices.ContainsFunc([]string{"usr", "bin"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}) {
		return nil, fmt.Errorf("the directory is no OCI layout, and has neither usr nor bin as a root file system would: %w", bench.ErrInvalid)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := tree.Unmounted(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", bench.ErrInvalid, err)
	}
	sum := sha256.New()
	if err := archive(ctx, sum, dir); err != nil {
		return nil, err
	}
	return &Source{id: "sha256:" + hex.EncodeToString(sum.Sum(nil)), dir: dir, archive: archive}, nil
}

// ofEngine has an engine write the image to a file that is gone with its last user.
func ofEngine(ctx context.Context, engine, name, temp string) (*Source, error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%q is no name of an image: %w", name, bench.ErrInvalid)
	}
	argv := slices.Concat(engines[engine], []string{name})
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: %w", argv[0], bench.ErrUnavailable)
	}
	f, err := os.CreateTemp(temp, ".saved-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	cmd := exec.Command(program, argv[1:]...)
	cmd.Stdout = f
	if err := tool.Run(ctx, tool.Slow, cmd); err != nil {
		if slices.ContainsFunc(unreached, func(says string) bool { return strings.Contains(err.Error(), says) }) {
			err = fmt.Errorf("%w%w", err, bench.Hint("start it (systemctl start "+engine+"), or name a file that "+engine+" saved the image to"))
		}
		return nil, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s, err := ofArchive(ctx, func() (io.ReadCloser, error) {
		return struct {
			*io.SectionReader
			io.Closer
		}{io.NewSectionReader(f, 0, info.Size()), io.NopCloser(nil)}, nil
	})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.saved = f
	return s, nil
}

// Bounds of what is read whole, and of the names in an archive.
const (
	maxText  = 4 << 20
	maxNames = 100_000
)

// ofArchive reads what docker save wrote, compressed or not.
func ofArchive(ctx context.Context, open tarball.Opener) (*Source, error) {
	plain := func() (io.ReadCloser, error) { return uncompressed(open) }
	if err := checkArchive(ctx, plain); err != nil {
		return nil, err
	}
	image, err := tarball.Image(plain, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w%w", bench.ErrInvalid, err, saveHint)
	}
	return &Source{image: image}, nil
}

const saveHint = bench.Hint("docker save NAME -o FILE writes one that works; of an archive of an OCI layout, give the directory it unpacks to")

// uncompressed is the archive, also of one that gzip has compressed.
func uncompressed(open tarball.Opener) (io.ReadCloser, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	magic := make([]byte, 2)
	_, err = io.ReadFull(f, magic)
	if f.Close(); err != nil {
		return nil, fmt.Errorf("it is empty: %w", bench.ErrInvalid)
	}
	if f, err = open(); err != nil || string(magic) != "\x1f\x8b" {
		return f, err
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// checkArchive bounds what the library reads whole: the manifest, and the configuration it names.
func checkArchive(ctx context.Context, open tarball.Opener) error {
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	sizes := map[string]int64{} // -1 is no file, or several of one name
	var manifest tarball.Manifest
	for t := tar.NewReader(f); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("not a tar archive: %w: %w", err, bench.ErrInvalid)
		}
		name, size := path.Clean(h.Name), h.Size
		if _, again := sizes[name]; again || h.Typeflag != tar.TypeReg {
			size = -1
		}
		if sizes[name] = size; len(sizes) > maxNames {
			return fmt.Errorf("an archive of more than %d files: %w", maxNames, bench.ErrInvalid)
		}
		if name != "manifest.json" {
			continue
		}
		if size < 0 {
			return fmt.Errorf("manifest.json is no file, or there twice: %w", bench.ErrInvalid)
		}
		if err := decode(t, &manifest); err != nil {
			return fmt.Errorf("manifest.json: %w", err)
		}
	}
	switch {
	case len(manifest) == 0:
		return fmt.Errorf("an archive without a manifest.json is no image: %w%w", bench.ErrInvalid, saveHint)
	case len(manifest) > 1:
		return fmt.Errorf("it holds %d images: %w%w", len(manifest), bench.ErrInvalid, bench.Hint("save one of them alone"))
	}
	config := manifest[0].Config
	if size, ok := sizes[path.Clean(config)]; !ok || size < 0 || size > maxText {
		return fmt.Errorf("configuration %q is not there once, as a file of at most %d bytes: %w", config, maxText, bench.ErrInvalid)
	}
	return nil
}

// decode reads one JSON value of bounded length.
func decode(r io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxText:
		return fmt.Errorf("more than %d bytes: %w", maxText, bench.ErrInvalid)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", err, bench.ErrInvalid)
	}
	return nil
}

// ofLayout reads an OCI layout with one image of this host's architecture.
func ofLayout(dir string) (*Source, error) {
	if err := checkText(filepath.Join(dir, "index.json")); err != nil {
		return nil, err
	}
	index, err := layout.Path(dir).ImageIndex()
	for range 3 { // an index may lead to an index
		if err != nil {
			return nil, fmt.Errorf("%w: %w", bench.ErrInvalid, err)
		}
		m, err := index.IndexManifest()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", bench.ErrInvalid, err)
		}
		found := slices.DeleteFunc(slices.Clone(m.Manifests), func(d v1.Descriptor) bool {
			return d.Platform != nil && (d.Platform.OS != "linux" || d.Platform.Architecture != runtime.GOARCH)
		})
		if len(found) != 1 {
			return nil, fmt.Errorf("the layout has %d images for linux/%s, not one: %w", len(found), runtime.GOARCH, bench.ErrInvalid)
		}
		d := found[0]
		if err := checkText(blob(dir, d.Digest)); err != nil {
			return nil, err
		}
		if d.MediaType.IsIndex() {
			if index, err = index.ImageIndex(d.Digest); err != nil {
				return nil, fmt.Errorf("%w: %w", bench.ErrInvalid, err)
			}
			continue
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", bench.ErrInvalid, err)
		}
		config, err := image.ConfigName()
		if err == nil {
			err = checkText(blob(dir, config))
		}
		return &Source{image: image}, err
	}
	return nil, fmt.Errorf("an index leads to an index, again and again: %w", bench.ErrInvalid)
}

func blob(dir string, h v1.Hash) string {
	return filepath.Join(dir, "blobs", filepath.Base(h.Algorithm), filepath.Base(h.Hex))
}

// checkText is an error for what is no regular file of a size to be read whole.
func checkText(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", bench.ErrInvalid, err)
	case !info.Mode().IsRegular() || info.Size() > maxText:
		return fmt.Errorf("%s is no file of at most %d bytes: %w", path, maxText, bench.ErrInvalid)
	}
	return nil
}

// describe reads the image's configuration, and refuses an image of another kind of machine.
func (s *Source) describe() error {
	id, err := s.image.ConfigName()
	if err != nil {
		return fmt.Errorf("%w: %w", bench.ErrInvalid, err)
	}
	raw, err := s.image.RawConfigFile()
	if err != nil {
		return fmt.Errorf("%w: %w", bench.ErrInvalid, err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != id.Hex {
		return fmt.Errorf("its configuration is not %s, as it is called: %w", id, bench.ErrInvalid)
	}
	c, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%w: %w", bench.ErrInvalid, err)
	}
	if c.OS != "linux" || c.Architecture != runtime.GOARCH {
		return fmt.Errorf("it is for %s/%s, and this host is linux/%s: %w", c.OS, c.Architecture, runtime.GOARCH, bench.ErrInvalid)
	}
	s.id, s.layers = id.String(), c.RootFS.DiffIDs
	s.config = bench.ImageConfig{Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd, Env: map[string]string{}, User: c.Config.User, Dir: c.Config.WorkingDir}
	for _, entry := range c.Config.Env {
		name, value, _ := strings.Cut(entry, "=")
		if name == "" || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("%q is no environment variable: %w", entry, bench.ErrInvalid)
		}
		s.config.Env[name] = value
	}
	if dir := s.config.Dir; dir != "" && !filepath.IsAbs(dir) {
		return fmt.Errorf("its working directory %q is not absolute: %w", dir, bench.ErrInvalid)
	}
	return nil
}

package own

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/bench"
)

// AgentPlace is where a saved image has the agent.
const AgentPlace = "/.tare-agent"

// Save writes an archive that container engines load: the root file system in the tar archive root, and
// in a layer of its own what is to be beside it: the agent at [AgentPlace], and files and directories of
// the host by their places in the image. Ref is the image's name there. The file at to is whole, or not
// there; one that was there before is an error.
func Save(to, ref, root string, beside map[string]string) (err error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("save image: %w: %w%w", err, bench.ErrInvalid, bench.Hint("such as localhost/tare:1"))
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("save image: %s is there already: %w%w", to, bench.ErrInvalid, bench.Hint("remove it, or name another file"))
	}
	base, err := tarball.LayerFromFile(root)
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	top, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(writeBeside(w, beside)) }() // ends with the reader
		return r, nil
	})
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, base, top)
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Cmd: []string{AgentPlace, "serve"}, Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+"-")
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	defer os.Remove(f.Name())
	err = tarball.Write(tag, image, f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	return nil
}

// writeBeside writes an archive of files and directories of the host at their places. They belong to root
// and have no time, so that the same files are the same layer.
func writeBeside(to io.Writer, beside map[string]string) error {
	w := tar.NewWriter(to)
	for _, place := range slices.Sorted(maps.Keys(beside)) {
		from := beside[place]
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			return writeEntry(w, strings.TrimPrefix(filepath.Join(place, rel), "/"), path, d)
		})
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// writeEntry writes a file, a directory or a link to the archive.
func writeEntry(w *tar.Writer, name, path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Format: tar.FormatPAX}
	switch info.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		return w.WriteHeader(h)
	case fs.ModeSymlink:
		h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
		if h.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		return w.WriteHeader(h)
	case 0:
	default:
		return fmt.Errorf("%s is neither a file nor a directory", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

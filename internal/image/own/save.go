package own

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/bench"
)

// AgentPlace is where an image that Save wrote has the agent.
const AgentPlace = "/.tare-agent"

// Save writes an archive that container engines load: the root file system in the tar archive root,
// with the agent's program in a layer of its own. Ref is the image's name there. The file at to is
// whole, or not there; one that was there before is an error.
func Save(to, ref, root, agent string) (err error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("save image: %w: %w%w", err, bench.ErrInvalid, bench.Hint("such as localhost/tare:1"))
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("save image: %s is there already: %w%w", to, bench.ErrInvalid, bench.Hint("remove it, or name another file"))
	}
	program, err := os.ReadFile(agent)
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	base, err := tarball.LayerFromFile(root)
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	top, err := agentLayer(program)
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

// agentLayer has the agent's program alone. It has no time, so that the same program is the same layer.
func agentLayer(program []byte) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: AgentPlace[1:], Mode: 0o755, Size: int64(len(program)), Format: tar.FormatPAX}); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}

package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tare/internal/bench"
)

// repository is the name under which golden images are imported.
const repository = "tare"

var digestPattern = regexp.MustCompile(`^sha256:([a-z0-9]+)$`)

// tag is the name of the golden image with the digest, by its first 12 digits.
func tag(digest string) (string, error) {
	m := digestPattern.FindStringSubmatch(digest)
	if m == nil {
		return "", fmt.Errorf("image digest %q: not of the form sha256:DIGITS", digest)
	}
	return repository + ":" + m[1][:min(12, len(m[1]))], nil
}

// provide imports the golden image unless an earlier run has, and returns its
// name and how long the import took. Golden images of other digests are removed when it imports.
func (d *daemon) provide(ctx context.Context, image bench.Image) (name string, took time.Duration, err error) {
	if name, err = tag(image.Digest()); err != nil {
		return "", 0, err
	}
	_, err = d.api.ImageInspect(ctx, name)
	if err == nil {
		return name, 0, nil
	}
	if !cerrdefs.IsNotFound(err) {
		return "", 0, fmt.Errorf("look for image %s: %w", name, d.explain(err))
	}
	if err := d.removeImages(ctx); err != nil {
		return "", 0, err
	}
	path, err := image.Tar(ctx)
	if err != nil {
		return "", 0, err
	}
	start := time.Now()
	if err := d.importTar(ctx, path, name); err != nil {
		return "", 0, fmt.Errorf("import image %s: %w", name, d.explain(err))
	}
	return name, time.Since(start), nil
}

func (d *daemon) importTar(ctx context.Context, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	progress, err := d.api.ImageImport(ctx, client.ImageImportSource{Source: f, SourceName: "-"}, name, client.ImageImportOptions{})
	if err != nil {
		return err
	}
	defer progress.Close()
	if err := importError(progress); err != nil {
		return err
	}
	_, err = d.api.ImageInspect(ctx, name)
	return err
}

// importError reads the progress of an import to its end: a stream of JSON
// objects, one of which may carry an error.
func importError(progress io.Reader) error {
	for dec := json.NewDecoder(progress); ; {
		var step struct {
			Error string `json:"error"`
		}
		err := dec.Decode(&step)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("progress of the import: %w", err)
		}
		if step.Error != "" {
			return errors.New(step.Error)
		}
	}
}

func (d *daemon) removeImages(ctx context.Context) error {
	images, err := d.api.ImageList(ctx, client.ImageListOptions{All: true})
	if err != nil {
		return fmt.Errorf("list images: %w", d.explain(err))
	}
	for _, im := range images.Items {
		_, err := d.api.ImageRemove(ctx, im.ID, client.ImageRemoveOptions{Force: true, PruneChildren: true})
		if err != nil && !cerrdefs.IsNotFound(err) {
			return fmt.Errorf("remove image %s: %w", im.ID, d.explain(err))
		}
	}
	return nil
}

// removeContainers removes what a run that was killed has left in the data root.
func (d *daemon) removeContainers(ctx context.Context) error {
	list, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return fmt.Errorf("list containers: %w", d.explain(err))
	}
	for _, c := range list.Items {
		if err := d.removeContainer(ctx, c.ID); err != nil {
			return err
		}
	}
	return nil
}

// removeContainer kills and removes the container. One that is not there is no error.
func (d *daemon) removeContainer(ctx context.Context, id string) error {
	o := client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}
	_, err := d.api.ContainerRemove(ctx, id, o)
	if err != nil && strings.Contains(err.Error(), "is not running") {
		_, err = d.api.ContainerRemove(ctx, id, o) // it ended by itself right before it was to be killed
	}
	if ctx.Err() != nil {
		return fmt.Errorf("remove container %s: no answer: %w%w", id, ctx.Err(), bench.Hint(
			"the runtime hangs; what ran in the container is killed by its control group: try the runtime by hand, or another one (docker[runtime=...])"))
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		return fmt.Errorf("remove container %s: %w", id, d.explain(err))
	}
	return nil
}

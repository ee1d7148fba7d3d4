package oci

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/platform/launch"
)

// bundle is a directory as the runtime specification wants it, with the layer
// over the image beside. The caller of a launch removes all of it.
type bundle struct {
	dir   string
	image string
}

func (b bundle) rootfs() string { return filepath.Join(b.dir, "rootfs") }
func (b bundle) upper() string  { return filepath.Join(b.dir, "upper") }
func (b bundle) work() string   { return filepath.Join(b.dir, "work") } // overlayfs's own

// write makes the bundle but for its root, which is empty until [bundle.mount].
func (b bundle) write(s specs.Spec) error {
	for _, dir := range []string{b.rootfs(), b.upper(), b.work()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return fmt.Errorf("write config.json: %w", err)
	}
	return os.WriteFile(filepath.Join(b.dir, "config.json"), text, 0o644)
}

// mount puts the image under a layer of the container's own at the bundle's
// root. It is for use inside launch.Apart, whose mounts vanish with the runtime
// and its container.
func (b bundle) mount() error { return launch.Overlay(b.image, b.dir, b.rootfs()) }

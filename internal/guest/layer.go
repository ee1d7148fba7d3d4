package guest

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Where the parts of a layered root are mounted, in the initial RAM file system.
const (
	lower = "/lower"
	layer = "/layer"
)

// mountRoot mounts the root's disk on newRoot: by itself, or read-only below a
// layer on a disk of its own (the kernel's Documentation/filesystems/overlayfs.rst).
func mountRoot(d devices) error {
	if err := await(d.root); err != nil {
		return err
	}
	if d.layer == "" {
		return mount(d.root, "ext4", newRoot, 0, "")
	}
	if err := loadModules("/modules-layer.list"); err != nil {
		return fmt.Errorf("the kernel's overlay file system: %w", err)
	}
	if err := await(d.layer); err != nil {
		return err
	}
	if err := mount(d.root, "ext4", lower, unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := mount(d.layer, "ext4", layer, 0, ""); err != nil {
		return err
	}
	const upper, work = layer + "/upper", layer + "/work"
	for _, dir := range []string{upper, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("layer over the root: %w", err)
		}
	}
	return mount("root", "overlay", newRoot, 0, "lowerdir="+lower+",upperdir="+upper+",workdir="+work)
}

package lxc

import (
	"os"
	"path/filepath"

	"tare/internal/platform/launch"
)

// port is the directory with the socket to which a system container's agent connects.
func (c container) port() string { return filepath.Join(c.launch.Dir, "port") }

// install makes the agent a service of a system container.
func (c container) install() error {
	root := c.upper()
	if c.copies() {
		root = c.copied()
	}
	if err := launch.Install(c.image, root); err != nil {
		return err
	}
	return os.Mkdir(c.port(), 0o755)
}

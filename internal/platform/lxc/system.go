package lxc

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// A system container's agent is a service. It connects to a socket in a
// directory of the host.
const (
	initInside = "/sbin/init"
	portInside = "/.tare-port"
	socket     = "agent"
	unitDir    = "etc/systemd/system"
	unitName   = "tare-agent.service"
	target     = "multi-user.target"
)

// unit starts the agent once the system is up. It has no limits but the container's.
const unit = "[Unit]\nDescription=Tare's agent\nAfter=" + target + "\n\n[Service]\nExecStart=" + agentInside + " serve --port " + portInside + "/" + socket +
	"\nTasksMax=infinity\nOOMPolicy=continue\nRestart=no\n\n[Install]\nWantedBy=" + target + "\n"

func (c container) port() string { return filepath.Join(c.launch.Dir, "port") }

// initArgs are the init system's. In a container systemd takes its own
// arguments for the kernel's command line; since version 256 it wants to be told so
// where the host has control groups of version 1.
func (c container) initArgs() []string {
	args := []string{initInside}
	if !c.v2 {
		args = append(args, "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1")
	}
	return args
}

// install makes the agent a service, in the container's own layer or copy.
func (c container) install() error {
	if _, err := os.Lstat(filepath.Join(c.image, initInside)); err != nil {
		return fmt.Errorf("init=systemd: the image has no init: %w: %w%w", err, bench.ErrUnavailable,
			bench.Hint("its recipe needs the package systemd-sysv"))
	}
	root := c.upper()
	if c.copies() {
		root = c.copied()
	}
	wants := filepath.Join(root, unitDir, target+".wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, unitDir, unitName), []byte(unit), 0o644); err != nil {
		return err
	}
	if err := os.Symlink("/"+unitDir+"/"+unitName, filepath.Join(wants, unitName)); err != nil {
		return err
	}
	if err := os.Mkdir(c.port(), 0o755); err != nil || !c.unprivileged() || c.copies() {
		return err // the copy is shown with its owners shifted
	}
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, launch.FirstID, launch.FirstID)
	})
}

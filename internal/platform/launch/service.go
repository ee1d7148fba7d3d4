package launch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tare/internal/bench"
)

// A system container's agent is a service of its systemd. It connects to a
// socket in a directory of the host that appears inside as PortInside.
const (
	Init       = "/sbin/init"
	PortInside = "/.tare-port"
	Socket     = "agent"
)

// InitOption is whether a container boots.
var InitOption = bench.Option{Name: "init", Values: []string{"none", "systemd"}, Default: "none",
	Doc: "none: an application container, just the program; systemd: a system container, ready once it has booted"}

const (
	unitDir  = "etc/systemd/system"
	unitName = "tare-agent.service"
	target   = "multi-user.target"
)

// unit starts the agent once the system is up. It has no limits but the container's.
const unit = "[Unit]\nDescription=Tare's agent\nAfter=" + target + "\n\n[Service]\nExecStart=" + AgentInside + " serve --port " + PortInside + "/" + Socket +
	"\nTasksMax=infinity\nOOMPolicy=continue\nRestart=no\n\n[Install]\nWantedBy=" + target + "\n"

// Install makes the agent a service of the image's init system, in the
// directory with an instance's own layer or copy of it.
func Install(image, root string) error {
	if err := HasInit(image); err != nil {
		return err
	}
	wants := filepath.Join(root, unitDir, target+".wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, unitDir, unitName), []byte(unit), 0o644); err != nil {
		return err
	}
	return os.Symlink("/"+unitDir+"/"+unitName, filepath.Join(wants, unitName))
}

// HasInit refuses an image without an init system.
func HasInit(image string) error {
	if _, err := os.Lstat(filepath.Join(image, Init)); err != nil {
		return fmt.Errorf("init=systemd: the image has no init: %w: %w%w", err, bench.ErrUnavailable,
			bench.Hint("its recipe needs the package systemd-sysv"))
	}
	return nil
}

// InitArgs are the init system's. In a container systemd takes its own
// arguments for the kernel's command line; since version 256 it wants to be
// told so where the host has control groups of version 1.
func InitArgs(v2 bool) []string {
	if v2 {
		return nil
	}
	return []string{"SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"}
}

// GiveAway hands all in the directory to the root of a user namespace, as [MapIDs] does.
func GiveAway(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, FirstID, FirstID)
	})
}

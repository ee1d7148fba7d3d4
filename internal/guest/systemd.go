package guest

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Where the agent of a guest that boots lies, in the RAM file system /run.
const (
	initProgram = "/sbin/init"
	agentDir    = "/run/tare"
	agentFile   = agentDir + "/agent"
	unitFile    = "/run/systemd/system/tare-agent.service"
	wants       = "/run/systemd/system/multi-user.target.wants/tare-agent.service"
)

// keepAgent shows this program, which is in the initial RAM file system, in the new root.
func keepAgent() error {
	if err := os.MkdirAll(newRoot+agentDir, 0o755); err != nil {
		return fmt.Errorf("keep the agent: %w", err)
	}
	if err := os.WriteFile(newRoot+agentFile, nil, 0o755); err != nil {
		return fmt.Errorf("keep the agent: %w", err)
	}
	if err := unix.Mount("/init", newRoot+agentFile, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep the agent: %w", err)
	}
	return nil
}

// handOver makes the agent the last service of the image's systemd and executes systemd in this
// process. The machine ends with the agent, as it does without systemd.
func handOver() error {
	port, err := findPort(portName)
	if err != nil {
		return err
	}
	unit := "[Unit]\nDescription=Tare's agent\nAfter=multi-user.target\nSuccessAction=poweroff-force\nFailureAction=poweroff-force\n\n" +
		"[Service]\nExecStart=" + agentFile + " serve --own-kernel --port " + port + "\nTasksMax=infinity\nOOMPolicy=continue\n"
	for _, file := range []string{unitFile, wants} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make the agent a service: %w", err)
		}
	}
	if err := os.WriteFile(unitFile, []byte(unit), 0o644); err != nil {
		return fmt.Errorf("make the agent a service: %w", err)
	}
	if err := os.Symlink(unitFile, wants); err != nil {
		return fmt.Errorf("make the agent a service: %w", err)
	}
	err = unix.Exec(initProgram, []string{initProgram}, []string{"PATH=/usr/sbin:/usr/bin", "TERM=linux"})
	return fmt.Errorf("hand over to %s: %w", initProgram, err)
}

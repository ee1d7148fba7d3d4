package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Held is a platform's program that waits in its control group to be started. Moving a process into
// a group takes up to tens of milliseconds, in which nothing on the host can fork. Waiting there
// keeps that time out of the launch.
type Held struct {
	Procs []string `json:"procs"` // the cgroup.procs files to join
	Path  string   `json:"path"`  // of the program
	Argv  []string `json:"argv"`
}

// Args are the arguments that make the agent's binary hold the program.
func (h Held) Args() ([]string, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("hold: %w", err)
	}
	return []string{"hold", string(text)}, nil
}

// ParseHeld reads the argument written by Args.
func ParseHeld(arg string) (Held, error) {
	var h Held
	if err := decode(arg, &h); err != nil {
		return Held{}, fmt.Errorf("hold: %w", err)
	}
	if !filepath.IsAbs(h.Path) || len(h.Argv) == 0 {
		return Held{}, fmt.Errorf("hold: argument %q: want an absolute path and arguments", arg)
	}
	return h, nil
}

// Hold joins the groups, reports so on file descriptor 3, waits there for the driver and executes
// the program with its given environment. It returns only on failure, after it has told the driver.
func Hold(arg string) error {
	runtime.LockOSThread()
	control := os.NewFile(Control, "control")
	err := hold(arg, control)
	if err != nil {
		fmt.Fprintln(control, err)
	}
	return err
}

func hold(arg string, control *os.File) error {
	h, err := ParseHeld(arg)
	if err != nil {
		return err
	}
	for _, f := range h.Procs {
		if err := os.WriteFile(f, []byte("0"), 0); err != nil {
			return fmt.Errorf("hold: join cgroup: %w", err)
		}
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("hold: close files: %w", err)
	}
	if _, err := fmt.Fprintln(control, Ready); err != nil {
		return errors.New("hold: the driver is gone")
	}
	if err := awaitLaunch(); err != nil {
		return fmt.Errorf("hold: wait for the launch: %w", err)
	}
	return fmt.Errorf("execute %s: %w", h.Path, syscall.Exec(h.Path, h.Argv, os.Environ()))
}

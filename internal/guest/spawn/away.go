package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The paths that [Away] uses in the directory it is given.
const (
	awayAgent = "tare-agent" // the agent's program
	awayRoom  = "room"       // where what is written lies, in memory
)

// Away runs the agent on a further host, whose directory dir holds nothing but the agent's program. The
// agent and all it starts are in a PID namespace, so that none outlives this process, and on so many CPUs. Their root
// is the host's own under a layer in memory, with scratch space there; mounts below the root are
// not seen. It returns when the agent has ended.
func Away(dir, cpus string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return fmt.Errorf("away: directory %q is not an absolute path", dir)
	}
	if err := os.Mkdir(filepath.Join(dir, awayRoom), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("away: %w", err)
	}
	runtime.LockOSThread() // whose end would be the child's
	cmd := exec.Command(filepath.Join(dir, awayAgent), "inside", dir, cpus)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("away: %w", err)
	}
	return nil
}

// Inside is the rest of [Away], as the first process of the namespaces, with scratch space at the path to. It becomes the agent and
// returns only if that fails.
func Inside(dir, cpus, to string) error {
	most, err := strconv.Atoi(cpus)
	if err != nil || most < 1 {
		return fmt.Errorf("away: %q is not a number of CPUs", cpus)
	}
	runtime.LockOSThread()
	room := filepath.Join(dir, awayRoom)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("away: detach mounts from the host's: %w", err)
	}
	// On a file system of its own: an overlay's layers must not lie in each other.
	if err := unix.Mount("tmpfs", room, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700"); err != nil {
		return fmt.Errorf("away: mount %s: %w", room, err)
	}
	scratch := filepath.Join(room, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return fmt.Errorf("away: %w", err)
	}
	usable, err := lastCPUs(most)
	if err != nil {
		return err
	}
	s := Spec{NetNS: "/proc/thread-self/ns/net", Root: "/", Dir: room, Scratch: Bind{From: scratch, To: to}, Agent: filepath.Join(dir, awayAgent), CPUs: usable}
	if err := s.prepare(); err != nil {
		return err
	}
	err = syscall.Exec(AgentPath, []string{"tare-agent", "serve", "--own-kernel"}, os.Environ())
	return fmt.Errorf("away: execute %s: %w", AgentPath, err)
}

// lastCPUs are the last CPUs that may be used, at most so many: hosts tend to handle interrupts on the first.
func lastCPUs(most int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("away: which CPUs may be used: %w", err)
	}
	var all []int
	for c := 0; len(all) < set.Count(); c++ {
		if set.IsSet(c) {
			all = append(all, c)
		}
	}
	return all[max(0, len(all)-most):], nil
}

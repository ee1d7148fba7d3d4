// Package spawn turns its own process into a native instance: the agent, in the golden image, on
// the shape's CPUs, and otherwise as any process of the host. It is the work of "tare-agent spawn",
// which the native driver starts.
//
// Everything is prepared before the launch: the process joins its cgroups and network namespace,
// makes the image its root in its own mount namespace and reports so on file descriptor 3. The
// driver's answer there is the launch: the process executes the agent. The mounts end with the
// process.
package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// AgentPath is where the agent is found inside.
const AgentPath = "/.tare-agent"

// Control is the file descriptor on which the instance and its driver agree on the
// launch: the instance writes [Ready], or what went wrong, and a newline; the
// driver writes one byte and the instance becomes the agent.
const Control = 3

// Ready is what an instance says once it is.
const Ready = "ready"

// Spec says how to build the instance.
type Spec struct {
	Procs   []string `json:"procs"`   // the cgroup.procs files to join
	NetNS   string   `json:"netns"`   // path of the network namespace to enter
	Root    string   `json:"root"`    // the image's tree, never written to
	Dir     string   `json:"dir"`     // an existing directory for what is written, removed by the caller
	Scratch Bind     `json:"scratch"` // the scratch space
	Agent   string   `json:"agent"`   // the agent's binary
	CPUs    []int    `json:"cpus"`    // to run on
}

// Bind is a directory of the host and where it appears inside.
type Bind struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Args are the arguments that make the agent's binary build the instance.
func (s Spec) Args() ([]string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("spawn: %w", err)
	}
	return []string{"spawn", string(text)}, nil
}

// decode reads one JSON value without keys that are unknown.
func decode(arg string, v any) error {
	dec := json.NewDecoder(strings.NewReader(arg))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("argument %q: %w", arg, err)
	}
	if dec.More() {
		return fmt.Errorf("argument %q: more than one value", arg)
	}
	return nil
}

// Parse reads the argument written by Args.
func Parse(arg string) (Spec, error) {
	var s Spec
	if err := decode(arg, &s); err != nil {
		return Spec{}, fmt.Errorf("spawn: %w", err)
	}
	for what, path := range map[string]string{
		"netns": s.NetNS, "root": s.Root, "dir": s.Dir, "agent": s.Agent,
		"scratch": s.Scratch.From, "scratch inside": s.Scratch.To,
	} {
		if !filepath.IsAbs(path) {
			return Spec{}, fmt.Errorf("spawn: %s %q is not an absolute path", what, path)
		}
		// These have a meaning of their own in the overlay's mount options.
		if strings.ContainsAny(path, `,:\`) {
			return Spec{}, fmt.Errorf(`spawn: %s %q contains a comma, colon or backslash`, what, path)
		}
	}
	if len(s.CPUs) == 0 {
		return Spec{}, errors.New("spawn: no CPUs")
	}
	for _, c := range s.CPUs {
		if c < 0 {
			return Spec{}, fmt.Errorf("spawn: CPU %d", c)
		}
	}
	return s, nil
}

// cpuSet leaves out CPUs beyond the 1024 that sched_setaffinity(2) can name.
func (s Spec) cpuSet() *unix.CPUSet {
	var set unix.CPUSet
	for _, c := range s.CPUs {
		set.Set(c)
	}
	return &set
}

// Enter builds the instance the argument describes around this process and becomes
// the agent in it. It returns only if that fails, and has then told the driver.
func Enter(arg string) error {
	control := os.NewFile(Control, "control")
	s, err := Parse(arg)
	if err == nil {
		err = s.prepare()
	}
	if err != nil {
		fmt.Fprintln(control, err)
		return err
	}
	if _, err := fmt.Fprintln(control, Ready); err != nil {
		return fmt.Errorf("spawn: tell the driver: %w", err)
	}
	if err := awaitLaunch(); err != nil {
		return fmt.Errorf("spawn: wait for the launch: %w", err)
	}
	err = syscall.Exec(AgentPath, []string{"tare-agent", "serve"}, os.Environ())
	return fmt.Errorf("spawn: execute %s: %w", AgentPath, err)
}

// awaitLaunch blocks this thread until the driver answers. Waiting through the runtime's poller
// would add its wake-up time to the launch.
func awaitLaunch() error {
	if err := unix.SetNonblock(Control, false); err != nil {
		return err
	}
	for {
		n, err := unix.Read(Control, make([]byte, 1))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return errors.New("the driver is gone")
		default:
			return nil
		}
	}
}

// prepare does everything that comes before the launch. Namespaces and CPUs
// belong to the thread, so it stays on this one, the one that executes the
// agent in the end.
func (s Spec) prepare() error {
	runtime.LockOSThread()
	unix.Umask(0o022)
	for _, f := range s.Procs {
		if err := os.WriteFile(f, []byte("0"), 0); err != nil {
			return fmt.Errorf("spawn: join cgroup: %w", err)
		}
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("spawn: close files: %w", err)
	}
	ns, err := unix.Open(s.NetNS, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("spawn: open network namespace %s: %w", s.NetNS, err)
	}
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("spawn: enter network namespace %s: %w", s.NetNS, err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("spawn: make mount namespace: %w", err)
	}
	if err := s.mount(); err != nil {
		return err
	}
	if err := s.changeRoot(); err != nil {
		return err
	}
	return s.schedule()
}

// schedule puts the process on its CPUs and resets policy and priority to the defaults.
func (s Spec) schedule() error {
	if err := unix.SchedSetaffinity(0, s.cpuSet()); err != nil {
		return fmt.Errorf("spawn: run on CPUs %v: %w", s.CPUs, err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0); err != nil {
		return fmt.Errorf("spawn: reset scheduling policy: %w", err)
	}
	return nil
}

// closeOnExec keeps every file but the standard ones from the agent: the caller
// may itself have been started with files open.
func closeOnExec() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return fmt.Errorf("/proc/self/fd/%s: %w", e.Name(), err)
		}
		if fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

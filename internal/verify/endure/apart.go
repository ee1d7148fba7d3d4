package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/host/tree"
)

// task is the input for one platform's row. It is given to a process in its own namespaces, where
// everything belongs to the task.
type task struct {
	Tare     string // the program
	Images   string // the images' directory
	Disk     string // where the state directory is made
	Platform string
	Moments  int
	Seed     uint64
	Alone    bool // nobody else is at work on the machine
	// Few leaves out the scenes that take long, Soon the moments that do not follow a line of the run's own.
	Few, Soon bool
	dir       string // made below Disk, removed at the end
}

// taskVar holds the task, as JSON, in the environment of the first process inside, and killerVar says that it has become the killer's parent.
const (
	taskVar   = "TARE_ENDURE_TASK"
	killerVar = "TARE_ENDURE_KILLER"
)

// insideVariable is not empty in a process inside.
func insideVariable() string { return os.Getenv(taskVar) }

// apart does the task in its own PID, mount, network and IPC namespaces, with its own /run, /tmp
// and /dev/shm, so that everything left there comes from killed runs. Words are for people.
func (t task) apart(ctx context.Context, words io.Writer) row {
	fail := func(err error) row { return row{Platform: t.Platform, Error: err.Error()} }
	var err error
	if t.Tare, err = filepath.Abs(t.Tare); err != nil {
		return fail(err)
	}
	if t.Images, err = filepath.EvalSymlinks(t.Images); err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp(t.Disk, "tare-endure-")
	if err != nil {
		return fail(err)
	}
	defer tree.Remove(dir)
	// What it is to see must not lie where it has a /tmp of its own.
	for _, program := range []*string{&t.Tare} {
		moved := filepath.Join(dir, "bin")
		if err := os.Mkdir(moved, 0o755); err != nil {
			return fail(err)
		}
		for _, name := range []string{"tare", "tare-agent"} {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(*program), name))
			if err == nil {
				err = os.WriteFile(filepath.Join(moved, name), data, 0o755)
			}
			if err != nil {
				return fail(err)
			}
		}
		*program = filepath.Join(moved, "tare")
	}
	text, err := json.Marshal(handed{t, dir})
	if err != nil {
		return fail(err)
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Cancel = func() error { return os.WriteFile(stopFile(dir), nil, 0o600) }
	cmd.WaitDelay = patience
	cmd.Env = append(os.Environ(), taskVar+"="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, words
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC, Pdeathsig: unix.SIGKILL,
		Setpgid: true, // a terminal's Ctrl-C goes to this process alone
	}
	if t.Platform == build { // which fetches packages
		cmd.SysProcAttr.Cloneflags &^= unix.CLONE_NEWNET
	}
	err = cmd.Run()
	var r row
	if jerr := json.Unmarshal(out.Bytes(), &r); jerr != nil {
		return fail(errors.Join(err, fmt.Errorf("%s: %w", strings.TrimSpace(out.String()), jerr)))
	}
	return r
}

// stopFile is made in a task's directory to have it end after the killing under way, with what it has found.
func stopFile(dir string) string { return filepath.Join(dir, "stop") }

// handed is a task with its directory, as its variable has it.
type handed struct {
	task
	Dir string
}

func readTask() (h handed, err error) {
	return h, json.Unmarshal([]byte(os.Getenv(taskVar)), &h)
}

// inside is the first process of the namespaces: it makes them ready, starts the killer and waits for everybody who has lost his parent.
func inside() int {
	if os.Getenv(killerVar) != "" {
		return killer()
	}
	signal.Ignore(unix.SIGINT, unix.SIGTERM) // who sent it is told by stopFile
	given, err := readTask()
	if err == nil {
		err = furnish(given.Dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "endure:", err)
		return exitFailed
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args[:1], &os.ProcAttr{
		Env: append(os.Environ(), killerVar+"=1"), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "endure:", err)
		return exitFailed
	}
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if pid == p.Pid && (ws.Exited() || ws.Signaled()) {
			return ws.ExitStatus()
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			fmt.Fprintln(os.Stderr, "endure:", err)
			return exitFailed
		}
	}
}

// furnish mounts what a host of its own has.
func furnish(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for place, mode := range map[string]string{"/run": "755", "/tmp": "1777", "/dev/shm": "1777"} {
		if err := unix.Mount("endure", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode="+mode); err != nil {
			return fmt.Errorf("mount %s: %w", place, err)
		}
	}
	if err := coverWrites(filepath.Join(dir, "over"), "/etc", "/opt"); err != nil {
		return err
	}
	// What earlier runs of anybody's have left there would hide that this one leaves it, too.
	for _, made := range []string{"/etc/docker", "/etc/cni/net.d/cni.lock", "/opt/containerd"} {
		if err := tree.Remove(made); err != nil {
			return err
		}
	}
	return os.Mkdir("/run/libvirt", 0o755) // without which libvirt counts as not set up
}

// coverWrites has what is written into the directories from now on end in memory, mounted at the place.
func coverWrites(place string, dirs ...string) error {
	if err := os.Mkdir(place, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("endure", place, "tmpfs", 0, "mode=700"); err != nil {
		return fmt.Errorf("mount %s: %w", place, err)
	}
	for _, dir := range dirs {
		upper, work := filepath.Join(place, dir, "upper"), filepath.Join(place, dir, "work")
		if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
			return err
		}
		if err := unix.Mount("endure", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+upper+",workdir="+work); err != nil {
			return fmt.Errorf("cover %s: %w", dir, err)
		}
	}
	return nil
}

// killer does the task and prints its row.
func killer() int {
	given, err := readTask()
	if err != nil {
		fmt.Fprintln(os.Stderr, "endure:", err)
		return exitFailed
	}
	for _, v := range []string{taskVar, killerVar} {
		os.Unsetenv(v) // the runs need not know
	}
	given.task.dir = given.Dir
	began := time.Now()
	r := newKiller(given.task).kill()
	r.Took = time.Since(began).Seconds()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return exitFailed
	}
	return 0
}

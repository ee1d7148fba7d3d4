package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// watched is a command for the stopwatch.
type watched struct {
	Argv []string `json:"argv"`
	Root string   `json:"root,omitempty"` // to chroot(2) to
	CPUs []int    `json:"cpus,omitempty"` // to run on
}

// stopwatch is a process of its own: it times a command from right before its
// fork to the first byte of its standard output, prints the milliseconds, and
// ends the command by closing its input once its own is closed.
func stopwatch(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("stopwatch: one argument")
	}
	var w watched
	if err := json.Unmarshal([]byte(args[0]), &w); err != nil || len(w.Argv) == 0 {
		return fmt.Errorf("stopwatch: argument %q: %v", args[0], err)
	}
	// A Go program's first start of another tries out the kernel by a fork
	// (pidfd), which is not to be timed.
	if err := exec.Command("true").Run(); err != nil {
		return err
	}
	cmd := exec.Command(w.Argv[0], w.Argv[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Chroot: w.Root}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began, err := start(cmd, w.CPUs)
	if err != nil {
		return err
	}
	first := make([]byte, 1)
	_, err = stdout.Read(first)
	took := time.Since(began)
	if err == nil {
		_, err = fmt.Fprintln(out, took.Seconds()*1000)
	}
	go io.Copy(io.Discard, stdout)
	io.Copy(io.Discard, in)
	stdin.Close()
	cmd.Wait() // however it ends: what was timed is its start
	return err
}

// start starts the command on the CPUs, which it inherits from the thread.
func start(cmd *exec.Cmd, cpus []int) (time.Time, error) {
	if len(cpus) > 0 {
		runtime.LockOSThread() // and never unlock: the thread is not used again
		var set unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return time.Time{}, fmt.Errorf("run on CPUs %v: %w", cpus, err)
		}
	}
	began := time.Now()
	return began, cmd.Start()
}

// press starts the stopwatch on the command and returns its reading in
// milliseconds, and what ends the command. The mark is that of a launch, for
// tare clean. It may be called inside of [launch.Apart].
func (w watched) press(mark, config string) (read func() (float64, error), end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	arg, err := json.Marshal(w)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, "stopwatch", string(arg))
	cmd.Env = append(os.Environ(), bench.ProcessMark+"="+mark, "DOCKER_CONFIG="+config)
	var words strings.Builder
	cmd.Stderr = &words
	cmd.WaitDelay = 5 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	read = func() (ms float64, err error) {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err == nil {
			_, err = fmt.Sscan(line, &ms)
		}
		if err != nil {
			return 0, fmt.Errorf("stopwatch on %q: %w: %s", w.Argv, err, words.String())
		}
		return ms, nil
	}
	end = func() error {
		stdin.Close()
		return cmd.Wait()
	}
	return read, end, nil
}

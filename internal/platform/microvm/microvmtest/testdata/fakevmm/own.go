package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// boot starts the guest's first process with what stands behind -- on the command line, and ends as a
// machine does that restarts where its kernel panics.
func (m machine) boot() error {
	line, err := m.line()
	if err != nil {
		return err
	}
	init, err := memberOf(m.initrd, "init")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "fakevmm-init")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(init); err != nil {
		return err
	}
	if err := file.Chmod(0o700); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, d := range m.disks {
		if err := overwrite(d.path, line); err != nil {
			return err
		}
	}
	outside, err := card(m.tap)
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil { // of this thread, and so of the process it starts
		return err
	}
	inside, err := card("eth0")
	if err != nil {
		return err
	}
	go carry(inside, outside)
	go carry(outside, inside)
	_, args, _ := strings.Cut(m.cmdline, " -- ")
	first := exec.Command(file.Name(), strings.Fields(args)...)
	first.Stdout, first.Stderr = line, line
	fmt.Fprint(line, "Linux version 0.0\r\n")
	if err := first.Start(); err != nil {
		return err
	}
	if err := os.Remove(file.Name()); err != nil { // now: a machine is killed rather than ends
		return err
	}
	err = first.Wait()
	fmt.Fprintf(line, "[    1.000000] Kernel panic - not syncing: Attempted to kill init! (%v)\r\n", err)
	return nil
}

// overwrite says how a disk begins, and writes over it.
func overwrite(path string, line io.Writer) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	fmt.Fprintf(line, "disk of the guest begins with %q\r\n", head)
	_, err = f.WriteAt(make([]byte, len(head)), 0)
	return err
}

// card opens a tap of the thread's network namespace by its name, or makes it.
func card(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	r, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	return fd, unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
}

// carry moves frames from one card to the other until one of them is gone.
func carry(from, to int) {
	frame := make([]byte, 64<<10)
	for {
		n, err := unix.Read(from, frame)
		if err != nil {
			return
		}
		if _, err := unix.Write(to, frame[:n]); err != nil && err != unix.EIO { // the card is not up yet
			return
		}
	}
}

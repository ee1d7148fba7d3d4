package xen

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal (pts(4)).
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// TestConsole: what a guest says is kept, and the end of the domain is told.
func TestConsole(t *testing.T) {
	daemon, tty := terminal(t) // xenconsoled keeps both ends open
	words := filepath.Join(t.TempDir(), "words")
	ended := make(chan bool)
	c, err := openConsole(tty.Name(), words, func() { close(ended) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(daemon, "booting\r\n\x0f\xf7"); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	for text := []byte(nil); len(text) < 11; text, err = os.ReadFile(words) {
		if err != nil {
			t.Fatal(err)
		}
	}
	daemon.Close()
	<-ended
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(words); string(text) != "booting\r\n\x0f\xf7" {
		t.Errorf("kept %q, %v", text, err)
	}
}

// TestConsoleClosed: a console that is closed while its domain lives ends too.
func TestConsoleClosed(t *testing.T) {
	daemon, tty := terminal(t)
	defer daemon.Close()
	defer tty.Close()
	ended := make(chan bool)
	c, err := openConsole(tty.Name(), filepath.Join(t.TempDir(), "words"), func() { close(ended) })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

package xen

import (
	"errors"
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

// TestConsole: what a guest says before its agent begins the stream is kept, the
// stream is passed on as it is, and the console ends with the domain.
func TestConsole(t *testing.T) {
	daemon, tty := terminal(t) // xenconsoled keeps both ends open
	words := filepath.Join(t.TempDir(), "words")
	c, err := openConsole(tty.Name(), words)
	if err != nil {
		t.Fatal(err)
	}
	said := "booting\n\xf7\x02hello\r\n\xf7\x00"
	if _, err := io.WriteString(daemon, said); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("hello\r\n\xf7"))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello\r\n\xf7" {
		t.Errorf("read %q, %v", got, err)
	}
	if text, err := os.ReadFile(words); string(text) != "booting\n" {
		t.Errorf("kept %q, %v", text, err)
	}
	if n, err := c.Write([]byte("a\r\x0fb")); n != 4 || err != nil {
		t.Fatalf("sent %d of 4: %v", n, err)
	}
	if _, err := io.ReadFull(daemon, got[:5]); err != nil || string(got[:5]) != "a\r\x0f\x0fb" {
		t.Errorf("the guest's console got %q, %v", got[:5], err)
	}
	ended := make(chan error)
	go func() {
		_, err := c.Read(got)
		ended <- err
	}()
	tty.Close()
	daemon.Close()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("after the domain's end: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

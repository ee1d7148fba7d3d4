package vm

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The archive must be what another program reads, not just what we write.
func TestCpioIsReadByCpio(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Fatal("cpio is not installed: ./test installs it")
	}
	var b bytes.Buffer
	c := &cpioWriter{w: &b}
	c.Dir("dev")
	c.CharDev("dev/console", 0o600, 5, 1)
	c.File("init", 0o755, []byte("#!"))
	c.File("empty", 0o644, nil)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	list := exec.Command("cpio", "-tv", "--quiet", "--numeric-uid-gid")
	list.Stdin = &b
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("cpio -t: %v\n%s", err, out)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		got = append(got, f[0]+" "+strings.Join(f[4:len(f)-4], "")+" "+f[len(f)-1])
	}
	want := []string{"drwxr-xr-x 0 dev", "crw------- 5,1 dev/console", "-rwxr-xr-x 2 init", "-rw-r--r-- 0 empty"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCpioContentSurvives(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Fatal("cpio is not installed: ./test installs it")
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,40}`).Draw(t, "name")
		data := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "data")
		var b bytes.Buffer
		c := &cpioWriter{w: &b}
		c.File("before", 0o644, []byte("x"))
		c.File(name, 0o644, data)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if b.Len()%4 != 0 {
			t.Fatalf("%d bytes are not whole words", b.Len())
		}
		extract := exec.Command("cpio", "-i", "--quiet", "--to-stdout", name)
		extract.Stdin = &b
		got, err := extract.Output()
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("got %q, %v; want %q", got, err, data)
		}
	})
}

var errFull = errors.New("disk full")

type fullDisk struct{ room int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestCpioReportsTheFirstError(t *testing.T) {
	c := &cpioWriter{w: &fullDisk{room: 150}}
	c.File("a", 0o644, []byte("x"))
	c.File("b", 0o644, []byte("y"))
	if err := c.Close(); err != errFull {
		t.Errorf("Close() = %v", err)
	}
}

package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/host/cgroup"
)

// callVar makes this program a caller at a socket, which echoes what it hears.
const callVar = "TARE_TEST_CALL"

func TestMain(m *testing.M) {
	if path := os.Getenv(callVar); path != "" {
		os.Exit(call(path))
	}
	os.Exit(m.Run())
}

func call(path string) int {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	if n, _ := io.Copy(conn, conn); n == 0 {
		return 1 // it was hung up on
	}
	return 0
}

// caller is a process that calls at the socket, as the user, and in the group if that is not nil.
func caller(t *testing.T, path string, user uint32, in *cgroup.Group) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{callVar + "=" + path}
	var said strings.Builder
	cmd.Stdout = &said
	start := func(born syscall.SysProcAttr) error {
		cmd.SysProcAttr = &born
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
		return cmd.Start()
	}
	var err error
	if in == nil {
		err = start(syscall.SysProcAttr{})
	} else {
		done := make(chan struct{})
		go onOwnThread(func() { err = in.Around(start); close(done) })
		<-done
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("user %d: %s", user, said.String())
		}
	})
	return cmd
}

// group is the one of an instance.
func group(t *testing.T) *cgroup.Group {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	fs, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("launch-test-%d", os.Getpid())
	g, _, err := fs.Create(name, cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cgroup.Remove(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return g
}

// ping has the caller echo.
func ping(c *Call) error {
	got := make([]byte, 4)
	if _, err := c.Write([]byte("ping")); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "ping" {
		return fmt.Errorf("%q, %w", got, err)
	}
	return c.Close()
}

// TestCall takes a call that comes late, and one that never does; one is hung up before.
func TestCall(t *testing.T) {
	g, dir := group(t), t.TempDir()
	listen := func(name string) (*net.UnixListener, string) {
		ln, err := Listen(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		return ln, filepath.Join(dir, name)
	}
	ln, path := listen("late")
	c := AwaitCall(ln, g, nil)
	caller(t, path, 0, g)
	if err := ping(c); err != nil {
		t.Error(err)
	}
	ln, _ = listen("never")
	done := make(chan struct{})
	c = AwaitCall(ln, g, done)
	close(done)
	if n, err := c.Read(make([]byte, 4)); err != io.EOF {
		t.Errorf("read %d, %v", n, err)
	}
	ln, _ = listen("hung up")
	c = AwaitCall(ln, g, nil)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Write([]byte("ping")); err == nil {
		t.Error("wrote after it was closed")
	}
	if _, err := Listen("/no/such/dir", "x"); err == nil {
		t.Error("listens nowhere")
	}
}

// Whoever is not root of the instance is hung up on, and does not take the agent's place.
func TestCallOfAnother(t *testing.T) {
	g, dir := group(t), t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the worst case: all may search for it
		t.Fatal(err)
	}
	const nobody = 65534
	for name, agent := range map[string]uint32{"root": 0, "root of a user namespace": FirstID} {
		ln, err := ListenToAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		c := AwaitCall(ln, g, nil)
		path := filepath.Join(dir, Socket)
		for who, wrong := range map[string]*exec.Cmd{
			"another user of the host":        caller(t, path, nobody, nil),
			"another user in the instance":    caller(t, path, FirstID+1000, g),
			"a stranger with the root's id":   caller(t, path, FirstID, nil),
			"a process outside, even of root": caller(t, path, 0, nil),
		} {
			if wrong.Wait(); wrong.ProcessState.ExitCode() != 1 {
				t.Errorf("%s was not hung up on: %v", who, wrong.ProcessState)
			}
		}
		caller(t, path, agent, g)
		if err := ping(c); err != nil {
			t.Errorf("%s of the instance: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

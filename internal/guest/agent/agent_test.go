package agent

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tare/internal/bench"
)

// duplex is a stream made of two pipes.
type duplex struct {
	io.Reader
	io.WriteCloser
	closers []io.Closer
}

func (d duplex) Close() error {
	err := d.WriteCloser.Close()
	for _, c := range d.closers {
		c.Close()
	}
	return err
}

// testContext bounds a test.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// inProcess dials an agent served by this process over in-memory pipes.
func inProcess(t testing.TB) *Client {
	t.Helper()
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(context.Background(), fromClient, toClient, Options{}) }()
	c, err := Dial(testContext(t), duplex{fromAgent, toAgent, []io.Closer{fromAgent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

var built struct {
	once sync.Once
	path string
	err  error
}

// TestMain removes the agent that tests have built.
func TestMain(m *testing.M) {
	status := m.Run()
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(status)
}

// buildAgent builds the real binary once.
func buildAgent(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "tare-agent-test-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "tare-agent")
		build := exec.Command("go", "build", "-o", built.path, "tare/cmd/tare-agent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Logf("%s", out)
			built.err = err
		}
	})
	if built.err != nil {
		t.Fatalf("build tare-agent: %v", built.err)
	}
	return built.path
}

// spawn starts the real agent as a child process, and returns its stream.
func spawn(t testing.TB, args ...string) (*exec.Cmd, io.ReadWriteCloser) {
	t.Helper()
	cmd := exec.Command(buildAgent(t), append([]string{"serve"}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), bench.ProcessMark+"=agent-test")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, duplex{out, in, []io.Closer{out}}
}

// dialed is a client of the real agent.
func dialed(t testing.TB, args ...string) *Client {
	t.Helper()
	_, stream := spawn(t, args...)
	c, err := Dial(testContext(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// shell is a command of sh.
func shell(script string) bench.Command {
	return bench.Command{Argv: []string{"sh", "-c", script}, Timeout: 30 * time.Second}
}

// bothWays runs a test against an agent in this process and against the real one.
func bothWays(t *testing.T, test func(t *testing.T, c *Client)) {
	t.Run("in process", func(t *testing.T) { test(t, inProcess(t)) })
	t.Run("binary", func(t *testing.T) { test(t, dialed(t)) })
}

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

func TestExec(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		name           string
		cmd            bench.Command
		stdout, stderr string
		exit           int
		signal         string
	}{
		{name: "true", cmd: bench.Command{Argv: []string{"/bin/true"}}},
		{name: "status", cmd: shell("exit 7"), exit: 7},
		{name: "both outputs", cmd: shell("echo out; echo err >&2"), stdout: "out\n", stderr: "err\n"},
		{name: "signal", cmd: shell("kill -SEGV $$"), exit: 128 + 11, signal: "segmentation fault"},
		{name: "stdin", cmd: bench.Command{Argv: []string{"cat"}, Stdin: []byte("in")}, stdout: "in"},
		{name: "no stdin", cmd: bench.Command{Argv: []string{"cat"}}},
		{name: "dir", cmd: bench.Command{Argv: []string{"pwd"}, Dir: dir}, stdout: dir + "\n"},
		{name: "default dir", cmd: bench.Command{Argv: []string{"pwd"}}, stdout: "/\n"},
		{name: "env", cmd: bench.Command{Argv: []string{"sh", "-c", "echo $HOME $LANG $PATH $A"}, Env: map[string]string{"A": "b", "HOME": "/h"}},
			stdout: "/h C.UTF-8 " + bench.CommandPath + " b\n"},
		{name: "sigpipe", cmd: shell("sh -c 'kill -PIPE $$'; echo $?"), stdout: "141\n"},
		{name: "blocking pipe", cmd: shell("grep flags: /proc/self/fdinfo/1"), stdout: "flags:\t01\n"},
	}
	bothWays(t, func(t *testing.T, c *Client) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				out, err := c.Exec(testContext(t), tc.cmd)
				if err != nil {
					t.Fatal(err)
				}
				if string(out.Stdout) != tc.stdout || string(out.Stderr) != tc.stderr {
					t.Errorf("printed %q and %q, want %q and %q", out.Stdout, out.Stderr, tc.stdout, tc.stderr)
				}
				if out.Exit != tc.exit || out.Signal != tc.signal || out.TimedOut || out.Wall <= 0 {
					t.Errorf("ended %+v, want exit %d, signal %q", out, tc.exit, tc.signal)
				}
			})
		}
	})
}

func TestExecThatCannotStart(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		cmd  bench.Command
		want string
		hint bool
	}{
		{bench.Command{Argv: []string{"no-such-program"}}, `exec no-such-program: program "no-such-program" not found`, true},
		{bench.Command{Argv: []string{"/no/such"}}, `program "/no/such": no such file`, true},
		{bench.Command{Argv: []string{"/etc/passwd"}}, "permission denied", true},
		{bench.Command{Argv: []string{"/etc"}}, "is a directory", true},
		{bench.Command{Argv: []string{script}}, "interpreter", false},
		{bench.Command{Argv: []string{"true"}, Dir: "/no/such/dir"}, "/no/such/dir", false},
		{bench.Command{}, "no program given", false},
		{bench.Command{Argv: []string{"cat"}, Stdin: make([]byte, MaxStdin+1)}, "standard input", false},
		{bench.Command{Argv: []string{"echo", strings.Repeat("x", maxFrame)}}, "too long", false},
	}
	c := inProcess(t)
	for _, tc := range cases {
		_, err := c.Exec(testContext(t), tc.cmd)
		if err == nil || !strings.Contains(err.Error(), tc.want) || (bench.HintOf(err) != "") != tc.hint {
			t.Errorf("error %q with hint %q, want %q", err, bench.HintOf(err), tc.want)
		}
	}
	if out, err := c.Exec(testContext(t), shell("exit 3")); err != nil || out.Exit != 3 {
		t.Errorf("afterwards: %+v, %v", out, err)
	}
}

func TestLargeOutputIsCountedThroughAndKeptInPart(t *testing.T) {
	bothWays(t, func(t *testing.T, c *Client) {
		seen := 0
		p, err := c.Start(testContext(t), shell("head -c 50000000 /dev/zero; head -c 1000 /dev/zero >&2"), func(b []byte) { seen += len(b) })
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Wait(testContext(t))
		if err != nil || out.Exit != 0 {
			t.Fatalf("%+v, %v", out.Exit, err)
		}
		if seen != 50000000 || len(out.Stdout) != MaxOutput || len(out.Stderr) != 1000 || !out.Truncated {
			t.Errorf("saw %d, kept %d and %d, truncated %v", seen, len(out.Stdout), len(out.Stderr), out.Truncated)
		}
	})
}

func TestLargeInput(t *testing.T) {
	input := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	bothWays(t, func(t *testing.T, c *Client) {
		out, err := c.Exec(testContext(t), bench.Command{Argv: []string{"cat"}, Stdin: input})
		if err != nil || !bytes.Equal(out.Stdout, input) {
			t.Fatalf("cat returned %d bytes of %d, %v", len(out.Stdout), len(input), err)
		}
		// A command that does not read its input is not held up by it.
		if out, err := c.Exec(testContext(t), bench.Command{Argv: []string{"true"}, Stdin: input}); err != nil || out.Exit != 0 {
			t.Fatalf("true: %+v, %v", out, err)
		}
	})
}

// A callback that blocks holds up its own command and nothing else.
func TestSlowConsumerHoldsUpOnlyItself(t *testing.T) {
	bothWays(t, func(t *testing.T, c *Client) {
		release := make(chan struct{})
		p, err := c.Start(testContext(t), shell("head -c 5000000 /dev/zero"), func([]byte) { <-release })
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Exec(testContext(t), shell("head -c 5000000 /dev/zero")); err != nil || len(out.Stdout) != 5000000 {
			t.Fatalf("the other command printed %d, %v", len(out.Stdout), err)
		}
		if _, err := c.Sample(testContext(t), make([]float64, len(c.Columns()))); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.over:
			t.Error("the command ended though nobody took its output")
		default:
		}
		close(release)
		if out, err := p.Wait(testContext(t)); err != nil || len(out.Stdout) != 5000000 {
			t.Errorf("printed %d, %v", len(out.Stdout), err)
		}
	})
}

func TestKillDespiteSlowConsumer(t *testing.T) {
	c := dialed(t)
	release := make(chan struct{})
	p, err := c.Start(testContext(t), bench.Command{Argv: []string{"yes"}}, func([]byte) { <-release })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	close(release)
	out, err := p.Wait(testContext(t))
	if err != nil || out.Exit != 128+9 || out.Signal != "killed" || out.TimedOut {
		t.Errorf("ended %d %q, %v", out.Exit, out.Signal, err)
	}
}

func TestConcurrentExecs(t *testing.T) {
	bothWays(t, func(t *testing.T, c *Client) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				want := strings.Repeat(fmt.Sprintf("%d ", i), 1000)
				out, err := c.Exec(testContext(t), bench.Command{Argv: []string{"echo", "-n", want}})
				if err != nil || string(out.Stdout) != want {
					t.Errorf("command %d: %.40q, %v", i, out.Stdout, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestStartStampsAndUsage(t *testing.T) {
	c := dialed(t)
	before := clock.Now()
	p, err := c.Start(testContext(t), shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Started(); s < before || s > clock.Now() || p.PID() <= 0 {
		t.Errorf("started at %d as %d; now is %d", s, p.PID(), clock.Now())
	}
	out, err := p.Wait(testContext(t))
	if err != nil || out.User <= 0 || out.User > out.Wall+time.Millisecond*50 {
		t.Errorf("wall %s, user %s, system %s, %v", out.Wall, out.User, out.System, err)
	}
}

func TestExecHonoursContext(t *testing.T) {
	c := dialed(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	out, err := c.Exec(ctx, shell("echo begun; exec sleep 1000"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "exec sh: exit") {
		t.Errorf("error %v", err)
	}
	if string(out.Stdout) != "begun\n" {
		t.Errorf("printed %q", out.Stdout)
	}
	waitUntilGone(t, c, "sleep 1000")
}

package tool

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestOutput(t *testing.T) {
	out, err := Output(t.Context(), Deadline, exec.Command("sh", "-c", "echo said; echo hint >&2"))
	if err != nil || string(out) != "said\n" {
		t.Errorf("%q, %v", out, err)
	}
	var elsewhere bytes.Buffer
	cmd := exec.Command("cat")
	cmd.Stdin, cmd.Stdout = strings.NewReader("in"), &elsewhere
	if out, err := Output(t.Context(), Deadline, cmd); err != nil || len(out) > 0 || elsewhere.String() != "in" {
		t.Errorf("%q, %q, %v", out, elsewhere.String(), err)
	}
	for script, want := range map[string]string{
		"echo complaint >&2; exit 3": "sh: exit status 3: complaint",
		"echo printed; exit 4":       "sh: exit status 4: printed",
	} {
		var failed *exec.ExitError
		if err := Run(t.Context(), Deadline, exec.Command("sh", "-c", script)); !errors.As(err, &failed) || err.Error() != want {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
	if err := Run(t.Context(), Deadline, exec.Command("/no/such/program")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A hanging program is killed with all its children, at its deadline or the caller's.
func TestDeadline(t *testing.T) {
	why := errors.New("stopped")
	for name, c := range map[string]struct {
		limit time.Duration
		want  error
	}{"late": {300 * time.Millisecond, ErrLate}, "stopped": {time.Minute, why}} {
		ctx, stop := context.WithCancelCause(t.Context())
		if c.want == why {
			time.AfterFunc(300*time.Millisecond, func() { stop(why) })
		}
		began := time.Now()
		cmd := exec.Command("sh", "-c", "trap '' TERM INT; sleep 1000 & sleep 1000; true")
		err := Run(ctx, c.limit, cmd)
		stop(nil)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "sleep 1000") || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
		if err := unix.Kill(-cmd.Process.Pid, 0); !errors.Is(err, unix.ESRCH) {
			for deadline := time.Now().Add(10 * time.Second); !errors.Is(err, unix.ESRCH) && time.Now().Before(deadline); err = unix.Kill(-cmd.Process.Pid, 0) {
				time.Sleep(10 * time.Millisecond) // an orphan waits for its new parent
			}
			if !errors.Is(err, unix.ESRCH) {
				t.Errorf("%s: something of the group is left: %v", name, err)
			}
		}
	}
	// A daemon that keeps the output open does not block the caller.
	began := time.Now()
	if err := Run(t.Context(), time.Minute, exec.Command("sh", "-c", "sleep 15 & exit 0")); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// A call that ignores the context is given up after its grace. One that does not returns its own
// error.
func TestCall(t *testing.T) {
	why := errors.New("stopped")
	for name, c := range map[string]struct {
		takes time.Duration // after the end of the context; less than 0: it ends before
		want  error
		late  bool
	}{"in time": {-time.Second, nil, false}, "heeds": {time.Second, why, false}, "hangs": {time.Hour, ErrLate, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
				defer cancel()
				began := time.Now()
				err := Call(ctx, 2*time.Second, func(ctx context.Context) error {
					time.Sleep(time.Minute + c.takes)
					return context.Cause(ctx)
				})
				if !errors.Is(err, c.want) || errors.Is(err, ErrLate) != c.late || c.late && !errors.Is(err, why) {
					t.Errorf("%v", err)
				}
				if took, want := time.Since(began), time.Minute+min(c.takes, 2*time.Second); took != want {
					t.Errorf("it took %v, not %v", took, want)
				}
				time.Sleep(time.Hour) // it keeps running until it returns
			})
		})
	}
}

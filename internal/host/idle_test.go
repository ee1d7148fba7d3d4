package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestIdlePolls(t *testing.T) {
	root := machine(t)
	refused := func(why string) {
		t.Helper()
		c := Controls(root, "/")[bench.CondIdle]
		if got := c.Refuses("idle", "poll"); !strings.Contains(got, why) {
			t.Errorf("refused for %q, want %q", got, why)
		}
		if _, err := Set(root, "/", &book{t: t}, map[string]string{"idle": "poll"}); !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("set: %v", err)
		}
	}
	refused("no driver of idle states")
	place(t, root, idleDriver, "none")
	refused("no driver of idle states")
	place(t, root, idleDriver, "acpi_idle")
	place(t, root, idleFirst, "C1")
	refused("acpi_idle does not poll")
	place(t, root, idleDriver, "haltpoll")
	place(t, root, idleFirst, "POLL")
	refused("no such file")

	wake := filepath.Join(root, wakeFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(wake), 0o755), os.WriteFile(wake, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	led := &book{t: t}
	restore, err := Set(root, "/", led, map[string]string{"idle": "poll"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(wake); err != nil || !bytes.Equal(got, []byte{0, 0, 0, 0}) {
		t.Errorf("asked for % x, %v", got, err)
	}
	if n := held(t, wake); n != 1 || len(led.held) != 0 {
		t.Errorf("held open %d times, registered %v", n, led.held)
	}
	if err := restore(); err != nil || held(t, wake) != 0 {
		t.Errorf("restored: %v, held open %d times", err, held(t, wake))
	}
}

// held counts this process's descriptors of the file.
func held(t *testing.T, path string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %d descriptors", err, len(all))
	}
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && to == path {
			n++
		}
	}
	return n
}

// Where this host lets its idle CPUs poll, the kernel takes the request.
func TestIdlePollsHere(t *testing.T) {
	if why := Controls("/", "/")[bench.CondIdle].Refuses("idle", "poll"); why != "" {
		t.Logf("refused with a reason: %s", why)
		return
	}
	restore, err := Set("/", "/", &book{t: t}, map[string]string{"idle": "poll"})
	if err != nil {
		t.Fatal(err)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
}

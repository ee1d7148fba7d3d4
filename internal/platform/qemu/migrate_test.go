package qemu

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// The stream to the agent, a command that runs and what it wrote to the root survive the move.
func TestMigration(t *testing.T) {
	g := run(t, "qemu-move")
	l := aLaunch(t, g, "a")
	l.Options[optRoot] = vm.Qcow2
	i, client := greet(t, g, l)
	defer client.Close()
	said := make(chan string, 1000)
	running, err := client.Start(t.Context(), bench.Command{Argv: []string{"sh", "-c", "echo kept >/etc/kept; sync; echo ready; while [ ! -e /tmp/end ]; do sleep 0.1; done; cat /etc/kept"}},
		func(b []byte) { said <- string(b) })
	if err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "ready\n" {
		t.Fatalf("the program said %q", got)
	}
	before := i.cmd.Process.Pid
	moved, err := i.Migrate(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, i.Log())
	}
	if moved.Ended <= moved.Began || moved.Bytes < bench.MiB || moved.Bytes > 512*bench.MiB || moved.Downtime <= 0 || moved.Rounds < 1 {
		t.Errorf("it says %+v", moved)
	}
	if out, err := client.Exec(t.Context(), bench.Command{Argv: []string{"touch", "/tmp/end"}}); err != nil || out.Exit != 0 {
		t.Fatalf("after the move: %v, %+v\n%s", err, out, i.Log())
	}
	if out, err := running.Wait(t.Context()); err != nil || out.Exit != 0 || !strings.Contains(string(out.Stdout), "kept") {
		t.Errorf("the program that was moved: %v, %+v", err, out)
	}
	scope, err := i.Scope()
	if err != nil || scope.Helpers[0].PID == before || !i.gone() {
		t.Errorf("it is served by process %+v as before (%v); the source is gone: %v", scope.Helpers, err, i.gone())
	}
	if _, err := i.Migrate(t.Context()); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("a second move: %v", err)
	}
}

func TestWhatCannotMigrate(t *testing.T) {
	i := &instance{asked: bench.Launch{Options: defaults()}}
	if _, err := i.Migrate(t.Context()); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(string(bench.HintOf(err)), "root=qcow2") {
		t.Errorf("with a hidden root: %v", err)
	}
	i.asked.Options[optRoot], i.asked.Host = vm.Raw, &bench.Hosting{}
	if _, err := i.Migrate(t.Context()); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("an outer machine: %v", err)
	}
}

// pair is two connected ends of a socket as QEMU and the driver have it.
func pair(t *testing.T, dir, name string) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := launch.Listen(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	theirs, err = net.Dial("unix", dir+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	if ours, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// What the other end has not read yet keeps a move waiting; what came before the end is still read.
func TestSocketThatIsLeft(t *testing.T) {
	ours, theirs := pair(t, t.TempDir(), "a")
	if done, err := taken(ours); err != nil || !done {
		t.Errorf("nothing was sent: %v, %v", done, err)
	}
	if _, err := io.WriteString(ours, "to the source"); err != nil {
		t.Fatal(err)
	}
	if done, err := taken(ours); err != nil || done {
		t.Errorf("not read yet: %v, %v", done, err)
	}
	got := make([]byte, 13)
	if _, err := io.ReadFull(theirs, got); err != nil {
		t.Fatal(err)
	}
	if done, err := taken(ours); err != nil || !done {
		t.Errorf("read: %v, %v", done, err)
	}
	io.WriteString(theirs, "old")
	if err := hangUp(ours); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(ours); err != nil || string(text) != "old" {
		t.Errorf("read %q, %v", text, err)
	}
}

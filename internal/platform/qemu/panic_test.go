package qemu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/guest/agent"
	"tare/internal/platform/launch"
)

// The launch of a guest whose kernel finds no first program ends with the panic's own line.
func TestPanicEndsTheLaunch(t *testing.T) {
	g := run(t, "qemu-panic")
	g.initrd = filepath.Join(g.env.Dir, "no-initrd")
	if err := os.WriteFile(g.initrd, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	// One CPU: with two an emulated kernel panics earlier, once in many boots, over code that it patches
	// while the other CPU runs it.
	l := aLaunch(t, g, "a")
	l.Shape.CPUs = 1
	i, err := g.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), slow*30*time.Second)
	defer cancel()
	_, err = agent.Dial(ctx, i.Stream())
	var fatal *launch.Fatal
	if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "Kernel panic - not syncing: VFS: Unable to mount root fs") {
		t.Errorf("%v; log:\n%s", err, i.Log())
	}
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

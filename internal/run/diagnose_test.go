package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// What QEMU and libvirt say of a disk that another monitor has locked.
func TestInUse(t *testing.T) {
	const said = `start libvirt-tcg x: virsh: exit status 1: error: internal error: qemu unexpectedly closed the monitor: qemu-system-x86_64: ` +
		"-device {\"driver\":\"virtio-blk-pci\"}: Failed to get \"consistent read\" lock\nIs another process using the image [/x/forms/root.ext4]?"
	if hint := bench.HintOf(inUse(errors.New(said))); !strings.Contains(hint, "fuser or lsof") {
		t.Errorf("hint %q", hint)
	}
	if hint := bench.HintOf(inUse(errors.New("another fault"))); hint != "" {
		t.Errorf("hint %q for another fault", hint)
	}
	if hint := bench.HintOf(inUse(fmt.Errorf("%s%w", said, bench.Hint("its own")))); hint != "its own" {
		t.Errorf("hint %q in place of the driver's own", hint)
	}
}

// Ctrl-C is not the fault of the instance's; a deadline and an early end are, and differ.
func TestUnanswered(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadlineCause(t.Context(), time.Unix(0, 0), errors.New("not up after 1s"))
	defer cancel()
	for _, c := range []struct {
		ctx  context.Context
		hint string
	}{{cancelled, ""}, {late, "timing.deadline"}, {t.Context(), "its last words"}} {
		err := unanswered(c.ctx, io.EOF)
		if hint := bench.HintOf(err); !errors.Is(err, io.EOF) || !strings.Contains(hint, c.hint) || (hint == "") != (c.hint == "") {
			t.Errorf("%v: hint %q, want one with %q", context.Cause(c.ctx), hint, c.hint)
		}
	}
}

func TestSaysOutOfMemory(t *testing.T) {
	for log, want := range map[string]bool{
		"[    0.4] Kernel panic - not syncing: System is deadlocked on memory":            true,
		"qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory": true,
		"[    0.4] Run /init as init process":                                             false,
	} {
		if saysOutOfMemory(log) != want {
			t.Errorf("%q: %v", log, !want)
		}
	}
}

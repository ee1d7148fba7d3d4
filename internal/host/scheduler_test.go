package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// onDisk adds a disk with a partition that holds the tree.
func onDisk(t *testing.T, root string) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(root, &st); err != nil {
		t.Fatal(err)
	}
	place(t, root, "sys/devices/pci0/block/sda/sda2/partition", "2")
	place(t, root, "sys/block/sda/queue/scheduler", "[mq-deadline] bfq none")
	place(t, root, "sys/dev/block/README", "")
	link := filepath.Join(root, "sys/dev/block", fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err := os.Symlink("../../devices/pci0/block/sda/sda2", link); err != nil {
		t.Fatal(err)
	}
}

func TestScheduler(t *testing.T) {
	root := machine(t)
	if c := Controls(root, "/")[bench.CondIOScheduler]; c.Why == "" {
		t.Errorf("without a disk: %+v", c)
	}
	onDisk(t, root)
	c := Controls(root, "/not/there/yet")[bench.CondIOScheduler]
	if !slices.Equal(c.Values, []string{"mq-deadline", "bfq", "none"}) || c.Why != "" {
		t.Fatalf("%+v", c)
	}
	led := &book{t: t}
	restore, err := Set(root, "/", led, map[string]string{"io_scheduler": "bfq"})
	if err != nil || len(led.held) != 1 {
		t.Fatalf("%v, registered %v", err, led.held)
	}
	file := filepath.Join(root, "sys/block/sda/queue/scheduler")
	if now, err := setting(file); err != nil || now != "bfq" {
		t.Errorf("%s, %v", now, err)
	}
	if err := restore(); err != nil || len(led.held) != 0 {
		t.Errorf("%v, registered %v", err, led.held)
	}
	if now, err := setting(file); err != nil || now != "mq-deadline" {
		t.Errorf("put back is %s, %v", now, err)
	}
}

package vm

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// realModules is the set of Debian's cloud kernel 6.12, cut to a few families.
func realModules(t *testing.T) *moduleSet {
	t.Helper()
	dep, err := os.ReadFile("testdata/modules.dep")
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := os.ReadFile("testdata/modules.builtin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := readModules(bytes.NewReader(dep), bytes.NewReader(builtin))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOrderForTheGuest(t *testing.T) {
	got, err := realModules(t).Order(guestModules[:]...)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{ // virtio_pci, virtio_console and ext4 are built in
		"kernel/drivers/block/virtio_blk.ko.xz",
		"kernel/net/core/failover.ko.xz",
		"kernel/drivers/net/net_failover.ko.xz",
		"kernel/drivers/net/virtio_net.ko.xz",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOrderOfADeepModule(t *testing.T) {
	s := realModules(t)
	got, err := s.Order("dm_raid")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 12 {
		t.Errorf("%d files, want 12: %v", len(got), got)
	}
	checkOrder(t, s, got)
}

func TestOrderErrors(t *testing.T) {
	if _, err := realModules(t).Order("nosuch"); err == nil || !strings.Contains(err.Error(), "no module nosuch") {
		t.Errorf("missing module: %v", err)
	}
	ring, err := readModules(strings.NewReader("a.ko: b.ko\nb.ko: a.ko\n"), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Order("a"); err == nil || !strings.Contains(err.Error(), "need each other") {
		t.Errorf("ring: %v", err)
	}
	for _, dep := range []string{"no colon", ": a.ko", "a.ko: b.so", "a.so: b.ko"} {
		if _, err := readModules(strings.NewReader(dep), strings.NewReader("")); err == nil || !strings.Contains(err.Error(), dep) {
			t.Errorf("modules.dep %q: error %v does not quote it", dep, err)
		}
	}
	if _, err := readModules(strings.NewReader(""), strings.NewReader("x")); err == nil {
		t.Error("modules.builtin \"x\" was taken")
	}
}

func TestOrderPutsNeedsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "modules")
		var dep strings.Builder
		for m := range n {
			fmt.Fprintf(&dep, "k/m%d.ko:", m)
			for need := range m {
				if rapid.Bool().Draw(t, "needs") {
					fmt.Fprintf(&dep, " k/m%d.ko", need)
				}
			}
			dep.WriteByte('\n')
		}
		s, err := readModules(strings.NewReader(dep.String()), strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Order(fmt.Sprintf("m%d", n-1), "m0")
		if err != nil {
			t.Fatal(err)
		}
		checkOrder(t, s, got)
	})
}

func checkOrder(t interface{ Errorf(string, ...any) }, s *moduleSet, files []string) {
	for i, f := range files {
		name, _ := moduleName(f)
		if slices.Contains(files[:i], f) {
			t.Errorf("%s is there twice", f)
		}
		for _, need := range s.needs[name] {
			if !slices.Contains(files[:i], s.file[need]) {
				t.Errorf("%s comes before %s, which it needs: %v", name, need, files)
			}
		}
	}
}

func FuzzReadModules(f *testing.F) {
	f.Add("kernel/a-b.ko.xz: kernel/c.ko.xz\nkernel/c.ko.xz:\n", "kernel/d.ko\n")
	f.Add(":", "")
	f.Fuzz(func(t *testing.T, dep, builtin string) {
		s, err := readModules(strings.NewReader(dep), strings.NewReader(builtin))
		if err != nil {
			return
		}
		for name := range s.file {
			if files, err := s.Order(name); err == nil {
				checkOrder(t, s, files)
			}
		}
	})
}

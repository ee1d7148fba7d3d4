package qemu

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestBalloonDevice(t *testing.T) {
	for value, want := range map[string]bool{"no": false, "yes": true} {
		m := machine{id: "x", options: bench.Variant(options(), map[string]string{optBalloon: value}), cpus: 1, memory: 256 * bench.MiB}
		argv := m.argv()
		got := slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(a, "virtio-balloon-pci,") })
		told := strings.Contains(strings.Join(argv, " "), " tare.balloon=yes")
		if got != want || told != want {
			t.Errorf("balloon=%s: device %v, told %v", value, got, told)
		}
	}
	if err := checkTogether(map[string]string{optBalloon: "yes", optPages: pagesHuge}); bench.HintOf(err) == "" {
		t.Errorf("a balloon with huge pages: %v", err)
	}
}

func TestResident(t *testing.T) {
	got, err := resident(os.Getpid())
	if err != nil || got < bench.MiB || got > bench.TiB {
		t.Errorf("this process has %s, %v", got, err)
	}
	if got, err := resident(1 << 30); err == nil {
		t.Errorf("no process has %s", got)
	}
}

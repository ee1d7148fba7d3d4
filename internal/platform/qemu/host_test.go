package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

// What the host is not set up for is refused, with what would set it up.
func TestHostAllows(t *testing.T) {
	meminfo := func(free string) string {
		return "MemTotal: 1 kB\nHugePages_Free: " + free + "\nHugepagesize:    2048 kB\n"
	}
	for what, c := range map[string]struct {
		files   map[string]string
		options map[string]string
		says    string // "" if it is allowed
		hint    string
	}{
		"nothing asked":      {nil, map[string]string{optKSM: "off"}, "", ""},
		"merging on":         {map[string]string{"sys/kernel/mm/ksm/run": "1\n"}, map[string]string{optKSM: "on"}, "", ""},
		"merging off":        {map[string]string{"sys/kernel/mm/ksm/run": "0\n"}, map[string]string{optKSM: "on"}, "merges no pages", "echo 1"},
		"no merging":         {nil, map[string]string{optKSM: "on"}, "no samepage merging", ""},
		"enough huge pages":  {map[string]string{"proc/meminfo": meminfo("    128")}, map[string]string{optPages: pagesHuge}, "", ""},
		"too few huge pages": {map[string]string{"proc/meminfo": meminfo("127")}, map[string]string{optPages: pagesHuge}, "254 MiB of huge pages are free, 256 MiB are needed", "vm.nr_hugepages=128"},
		"no huge pages":      {map[string]string{"proc/meminfo": "MemTotal: 1 kB\n"}, map[string]string{optPages: pagesHuge}, "no huge pages", ""},
		"a line of nonsense": {map[string]string{"proc/meminfo": meminfo("many")}, map[string]string{optPages: pagesHuge}, `"HugePages_Free: many"`, ""},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			write(t, filepath.Join(root, name), text)
		}
		err := hostFiles(root).allows(with(c.options), 256*bench.MiB)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%s: %v (%s)", what, err, bench.HintOf(err))
		}
		if c.hint != "" && !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("%s: does not say that it is unavailable", what)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// with adds the format of the disk, which every launch has.
func with(options map[string]string) map[string]string {
	options[optDisk] = vm.Raw
	return options
}

package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

func TestHeld(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"memory.usage_in_bytes": "3145728\n", "memory.memsw.usage_in_bytes": "5242880\n",
		"memory.current": "4194304\n", "memory.swap.current": "1048576\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for controller, want := range map[string][2]bench.Bytes{"memory": {3 * bench.MiB, 2 * bench.MiB}, Unified: {4 * bench.MiB, bench.MiB}} {
		g := &Group{dirs: map[string]string{controller: dir}}
		if used, swapped, err := g.Held(); err != nil || used != want[0] || swapped != want[1] {
			t.Errorf("%s: %v, %v, %v", controller, used, swapped, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "memory.swap.current"), []byte("max\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (&Group{dirs: map[string]string{Unified: dir}}).Held(); err == nil {
		t.Error("max passes for a size")
	}
}

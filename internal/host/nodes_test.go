package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMemoryNodesAreThoseWithMemory(t *testing.T) {
	for text, want := range map[string][]int{"0\n": {0}, "0-1,3\n": {0, 1, 3}, "": {0}, "none": {0}} {
		root := t.TempDir()
		if text != "" {
			file := filepath.Join(root, "sys/devices/system/node/has_memory")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := MemoryNodes(root); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

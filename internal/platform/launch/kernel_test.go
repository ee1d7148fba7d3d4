package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

func TestNeeds(t *testing.T) {
	overlay := func(root string) error { return needFilesystem(root, "6.1.0-x", "overlay") }
	released := func(release string) func(string) error { return func(string) error { return mapsIDs(release) } }
	for name, c := range map[string]struct {
		files map[string]string
		need  func(root string) error
		ok    bool
	}{
		"built in": {map[string]string{"proc/filesystems": "nodev\ttmpfs\nnodev\toverlay\n"}, overlay, true},
		"a module": {map[string]string{"proc/filesystems": "nodev\ttmpfs\n",
			"lib/modules/6.1.0-x/modules.dep": "kernel/fs/overlayfs/overlay.ko.xz:\n"}, overlay, true},
		"no module": {map[string]string{"proc/filesystems": "nodev\ttmpfs\n",
			"lib/modules/6.1.0-x/modules.dep": "kernel/fs/fuse/fuse.ko:\n"}, overlay, false},
		"nothing":            {map[string]string{"proc/filesystems": "\text4\n"}, overlay, false},
		"namespaces":         {map[string]string{"proc/sys/user/max_user_namespaces": "96401\n"}, needUserNamespaces, true},
		"namespaces denied":  {map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}, needUserNamespaces, false},
		"no namespaces":      {nil, needUserNamespaces, false},
		"a kernel that maps": {nil, released("5.19.0-41-generic"), true},
		"a newer one":        {nil, released("6.1.0-x"), true},
		"an older one":       {nil, released("5.15.0-1-amd64"), false},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := c.need(root)
		if c.ok != (err == nil) || err != nil && (!errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) == "") {
			t.Errorf("%s: %v (hint %q)", name, err, bench.HintOf(err))
		}
	}
	if err := mapsIDs("nonsense"); err == nil || errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("nonsense is a kernel release: %v", err)
	}
}

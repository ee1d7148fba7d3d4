package nested

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLabelOf(t *testing.T) {
	disk := make([]byte, 4096)
	disk[atMagic], disk[atMagic+1] = 0x53, 0xef
	copy(disk[atLabel:], "tare-hosts\x00rest")
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{"ext4": {disk, "tare-hosts"}, "nothing": {make([]byte, 4096), ""}, "short": {disk[:1100], ""}} {
		path := filepath.Join(t.TempDir(), "disk")
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := labelOf(path)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

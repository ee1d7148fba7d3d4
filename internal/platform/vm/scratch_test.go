package vm

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// groupLine begins what dumpe2fs says of a block group.
var groupLine = regexp.MustCompile(`^Group \d+:`)

// The scratch disk must have a journal, take hardly any room, and leave the
// guest's kernel nothing to initialize while something is measured.
func TestScratchDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "scratch.raw")
	if err := Scratch(t.Context(), dir, Raw, bench.GiB); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != int64(bench.GiB) || st.Blocks*512 > int64(4*bench.MiB) {
		t.Errorf("%d bytes, of which %d take room", st.Size, st.Blocks*512)
	}
	out, err := exec.Command("dumpe2fs", path).Output()
	if err != nil {
		t.Fatalf("dumpe2fs: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Filesystem features:") && !strings.Contains(line, "has_journal") {
			t.Error(line)
		}
		if groupLine.MatchString(line) && !strings.Contains(line, "ITABLE_ZEROED") {
			t.Errorf("the guest would have to zero inode tables: %s", line)
		}
	}
	if err := Scratch(t.Context(), dir, Raw, bench.GiB); err == nil {
		t.Error("a disk that is there was made again")
	}
}

package criu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files are those of criu 4.1.1, of a container that was checkpointed and restored.
func TestStatsOfRealRuns(t *testing.T) {
	for name, holds := range map[string]func(Stats) bool{
		"testdata/stats-dump": func(s Stats) bool {
			return s.Freezing > 0 && s.Frozen > s.Freezing && s.PagesWritten > 0 && s.Restore == 0
		},
		"testdata/stats-restore": func(s Stats) bool { return s.Restore > 1000 && s.Frozen == 0 },
	} {
		if s, err := ReadStats(name); err != nil || !holds(s) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestStatsThatAreNone(t *testing.T) {
	whole, err := os.ReadFile("testdata/stats-dump")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing":     nil,
		"another":     []byte("not statistics at all"),
		"cut short":   whole[:len(whole)-1],
		"a long size": append(append([]byte{}, whole[:8]...), 0xff, 0xff, 0xff, 0xff),
		"empty entry": append(append([]byte{}, whole[:8]...), 0, 0, 0, 0),
	} {
		if s, err := parseStats(data); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, err := ReadStats("testdata/none"); err == nil {
		t.Error("a file that is not there was read")
	}
}

func FuzzStats(f *testing.F) {
	for _, name := range []string{"testdata/stats-dump", "testdata/stats-restore"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStats(data); err != nil && s == (Stats{Freezing: 1}) {
			t.Error("figures beside an error")
		}
	})
}

func TestImagesByKind(t *testing.T) {
	dir := t.TempDir()
	if _, err := ImagesIn(dir); err == nil {
		t.Error("an empty directory is a checkpoint")
	}
	for name, size := range map[string]int{"pages-1.img": 4096, "pages-2.img": 100, "core-1.img": 30, "pagemap-1.img": 7} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..", filepath.Join(dir, "parent")); err != nil {
		t.Fatal(err)
	}
	if got, err := ImagesIn(dir); err != nil || got != (Images{Pages: 4196, Rest: 37}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestComplaints(t *testing.T) {
	for log, want := range map[string]string{
		"testdata/refused.log": "userfaultfd",
		"testdata/none":        "",
	} {
		if got := Complaints(log); (want == "") != (got == "") || !strings.Contains(strings.ToLower(got), want) {
			t.Errorf("%s: %q, want %q", log, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, fits := range map[string]bool{"3.17.1": false, "4.0": true, "4.1.1": true, "10.2": true, "GitID": false} {
		if err := newEnough(version); (err == nil) != fits {
			t.Errorf("%s: %v", version, err)
		}
	}
}

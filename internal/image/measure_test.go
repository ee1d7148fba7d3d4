package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestMeasureMakesEveryFormat(t *testing.T) {
	s := fakeStore(t, "")
	i := build(t, s)
	made, err := s.Measure(t.Context(), i,
		Maker{Format: "store", What: "unpacked by a daemon", Make: func(_ context.Context, tar, dir string) (time.Duration, error) {
			return time.Minute, os.Link(tar, filepath.Join(dir, "layer"))
		}},
		Maker{Format: "none", What: "of a daemon that is not there", Make: func(context.Context, string, string) (time.Duration, error) {
			return 0, errors.New("daemon is not installed")
		}})
	must(t, err)
	settled(t, s)
	safe(t, s)
	forms := map[string]Made{}
	for _, m := range made {
		forms[m.Format] = m
		switch {
		case m.Problem == "" && (m.Seconds <= 0 || m.Size <= 0 || m.OnDisk <= 0 || m.What == "" || m.Format != "store" && m.From == ""):
			t.Errorf("%+v says too little", m)
		case m.Problem != "" && !strings.HasSuffix(m.Problem, "is not installed"):
			t.Errorf("%s was not made: %s", m.Format, m.Problem)
		}
	}
	for _, form := range []string{"tree", "tar", "tar.gz", "raw"} {
		if forms[form].Size == 0 {
			t.Errorf("%s was not made", form)
		}
	}
	if store := forms["store"]; store.Seconds < 60 || store.Size != forms["tar"].Size {
		t.Errorf("%+v", store)
	}
	if raw := forms["raw"]; raw.OnDisk >= raw.Size || raw.Size < diskRoom {
		t.Errorf("the raw disk of %s takes %s", raw.Size, raw.OnDisk)
	}
	if root, err := i.Root(t.Context()); err != nil || forms["tree"].Size > forms["tar"].Size {
		t.Errorf("the tree at %s (%v) has %s, its archive %s", root, err, forms["tree"].Size, forms["tar"].Size)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Measure(cancelled, i); err == nil {
		t.Error("measured although cancelled")
	}
	settled(t, s)
}

// A program that fails is said with its words, and leaves no figures.
func TestFormThatCannotBeMade(t *testing.T) {
	i := &Image{dir: t.TempDir(), manifest: Manifest{}}
	m := i.make(t.Context(), t.TempDir(), measured{format: "tree", program: "cp", pkg: "coreutils", args: "-a ROOT OUT"})
	if m.Seconds != 0 || m.Size != 0 || !strings.Contains(m.Problem, "No such file") {
		t.Errorf("%+v", m)
	}
}

func TestSizesCountAFileWithTwoNamesOnce(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 8<<10), 0o644))
	must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	must(t, os.WriteFile(filepath.Join(dir, "c"), make([]byte, 1000), 0o644))
	seen, _, err := sizes(dir)
	must(t, err)
	if seen != 8*bench.KiB+1000 {
		t.Errorf("%d bytes", seen)
	}
}

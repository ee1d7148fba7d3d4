package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/app/planning"
	"tare/internal/bench"
)

// traitor is a platform with programs of its own, and one that only an option needs.
type traitor struct {
	bench.Platform
	name string
}

func (p traitor) Name() string { return p.name }
func (traitor) Options() []bench.Option {
	return []bench.Option{{Name: "runtime", Values: []string{"a", "b"}, Default: "a"}}
}
func (traitor) Traits() bench.Traits {
	return bench.Traits{Programs: []bench.Program{{Name: "main"}, {Name: "of-a", For: "a"}, {Name: "of-b", For: "b"}}}
}

func TestProgramsOf(t *testing.T) {
	plan := func(refs ...bench.PlatformRef) *bench.Plan {
		p := &bench.Plan{}
		for _, r := range refs {
			p.Scenes = append(p.Scenes, bench.Scene{Actors: []bench.Actor{{Platform: r}}})
		}
		return p
	}
	outer := bench.PlatformRef{Name: "outer"}
	for name, c := range map[string]struct {
		platform string
		told     []string
		plan     *bench.Plan
		want     []string
	}{
		"default":         {"x", []string{"main", "helper"}, plan(bench.PlatformRef{Name: "x"}), []string{"helper", "main", "of-a"}},
		"option":          {"x", nil, plan(bench.PlatformRef{Name: "x", Options: map[string]string{"runtime": "b"}}), []string{"main", "of-b"}},
		"not in the plan": {"x", []string{"main"}, plan(bench.PlatformRef{Name: "y"}), nil},
		"nesting": {"x@outer", []string{"runc", "outer qemu"}, plan(bench.PlatformRef{Name: "x", On: &outer}),
			[]string{"main", "of-a", "qemu"}},
	} {
		checked := planning.Checked{Platform: traitor{name: c.platform}, Availability: bench.Availability{Programs: map[string]string{}}}
		for _, n := range c.told {
			checked.Availability.Programs[n] = "1"
		}
		if d := cmp.Diff(c.want, programsOf(checked, c.plan)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestFingerprint: the file behind a link is what counts, and another content under the same name
// is another program.
func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("crun-1.8.1", "one")
	if err := os.Symlink("crun-1.8.1", at("tare-crun")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	files, err := fingerprint([]string{"tare-crun", "no-such-program"})
	want := []bench.ProgramFile{{Name: "tare-crun", Path: at("crun-1.8.1"), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("one"))), Size: 3}}
	if d := cmp.Diff(want, files); d != "" || err != nil {
		t.Fatalf("%v %s", err, d)
	}
	if err := exchanged(files); err != nil {
		t.Errorf("nothing was exchanged: %v", err)
	}
	write("crun-new", "two")
	if err := os.Remove(at("tare-crun")); err != nil {
		t.Fatal(err)
	}
	if err := exchanged(files); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "tare-crun is not installed") {
		t.Errorf("without the program: %v", err)
	}
	if err := os.Symlink("crun-new", at("tare-crun")); err != nil {
		t.Fatal(err)
	}
	if err := exchanged(files); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "crun-new sha256:") {
		t.Errorf("with another program by its name: %v", err)
	}
}

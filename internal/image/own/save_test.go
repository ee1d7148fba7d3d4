package own

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestASavedImageHasTheRootAndTheAgent(t *testing.T) {
	dir := t.TempDir()
	root, agent, to := filepath.Join(dir, "root.tar"), filepath.Join(dir, "agent"), filepath.Join(dir, "saved.tar")
	must(t, os.WriteFile(root, archiveOf(t, tar.Header{Name: "os-release"}), 0o600))
	must(t, os.WriteFile(agent, []byte("the agent"), 0o700))
	kernel := filepath.Join(dir, "kernel")
	must(t, os.MkdirAll(filepath.Join(kernel, "lib"), 0o755))
	must(t, os.WriteFile(filepath.Join(kernel, "lib", "module"), []byte("a module"), 0o644))
	must(t, os.Symlink("lib/module", filepath.Join(kernel, "link")))
	beside := map[string]string{AgentPlace: agent, "/.tare/image/kernel": kernel}
	must(t, Save(to, "localhost/tare:1", root, beside))
	files, s := unpacked(t, to)
	all := strings.Join(files, "\n")
	for _, want := range []string{".tare-agent", "the agent", "os-release", "a module", ".tare/image/kernel/link"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	if c := s.Config(); strings.Join(c.Cmd, " ") != "/.tare-agent serve" {
		t.Errorf("it runs %q", c.Cmd)
	}
	id := s.ID()
	must(t, os.Remove(to))
	must(t, Save(to, "localhost/tare:1", root, beside))
	if _, again := unpacked(t, to); again.ID() != id {
		t.Errorf("saved again it is another: %s, %s", id, again.ID())
	}
}

func TestAnImageIsSavedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	root, agent, to := filepath.Join(dir, "root.tar"), filepath.Join(dir, "agent"), filepath.Join(dir, "saved.tar")
	must(t, os.WriteFile(root, archiveOf(t, tar.Header{Name: "a"}), 0o600))
	must(t, os.WriteFile(agent, nil, 0o700))
	beside := map[string]string{AgentPlace: agent}
	for name, c := range map[string]struct {
		ref, root, agent string
		invalid          bool
	}{
		"a bad name":   {"LOCAL/tare:1", root, agent, true},
		"no tag":       {"localhost/tare", root, agent, true},
		"no root":      {"localhost/tare:1", root + "x", agent, false},
		"no agent":     {"localhost/tare:1", root, agent + "x", false},
		"root is none": {"localhost/tare:1", dir, agent, false},
	} {
		if err := Save(to, c.ref, c.root, map[string]string{AgentPlace: c.agent}); err == nil || errors.Is(err, bench.ErrInvalid) != c.invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.WriteFile(to, []byte("mine"), 0o600))
	if err := Save(to, "localhost/tare:1", root, beside); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("over a file: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".saved*")); len(left) > 0 || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

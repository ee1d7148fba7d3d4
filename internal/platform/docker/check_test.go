package docker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

func TestRefuse(t *testing.T) {
	for version, ok := range map[string]bool{"19.03.15": true, "20.10.24+dfsg1": true, "28.2.2": true, "18.09.9": false, "1.6.2": false, "": false} {
		if err := refuse(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// What is missing for one variant is not the fault of the others.
func TestCheckLacks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a daemon needs root")
	}
	dir := t.TempDir()
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(dir, p.name), []byte("#!/bin/sh\necho '"+p.banner+"20.10.24'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	p := New(t.TempDir())
	a, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lacking := func(options map[string]string) error { return a.Lacking(bench.Variant(p.Options(), options)) }
	if err := lacking(nil); err != nil {
		t.Error(err)
	}
	for _, r := range belowDocker[1:3] {
		_, missing := launch.Program(r)
		if err := lacking(map[string]string{"runtime": r}); (err == nil) != (missing == nil) {
			t.Errorf("runtime=%s: %v", r, err)
		}
	}
	err = lacking(map[string]string{"runtime": kata})
	if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(bench.HintOf(err), "nstall") {
		t.Errorf("runtime=kata: %v (hint %q)", err, bench.HintOf(err))
	}
}

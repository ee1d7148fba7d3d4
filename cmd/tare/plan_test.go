package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/result/store/storetest"
)

// A plan by earlier runs says what of them it could not use, and names an archive without any.
func TestPlanByArchive(t *testing.T) {
	dir := t.TempDir()
	storetest.Synthetic(t, filepath.Join(dir, "run"), storetest.Options{Blocks: 3, Seconds: 1, Cases: []string{"startup"}}).Close()
	spec := writeSpec(t, "native", startupScene)
	p := start(t, t.TempDir(), "plan", spec, "--archive", dir)
	p.ends(exitDone)
	out := strings.Join(strings.Fields(p.stdout.String()), " ")
	if !strings.Contains(out, "0 earlier runs of this host") || !strings.Contains(out, "is left out: ") || !strings.Contains(out, "processor") {
		t.Error(p.stdout.String())
	}
	p = start(t, t.TempDir(), "plan", spec, "--archive", t.TempDir())
	p.ends(exitInvalid)
	p.says("no run in it")
}

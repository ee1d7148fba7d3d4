package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
)

func TestCrash(t *testing.T) {
	if _, err := New(t.TempDir()).Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "dockercrash", func(state string) bench.Platform { return New(state) }, []launchtest.Moment{
		{Step: "open", After: 100 * time.Millisecond}, {Step: "open", After: 600 * time.Millisecond},
		{Step: "start"}, {Step: "start", After: 60 * time.Millisecond}, {Step: "start", After: 150 * time.Millisecond},
		{Step: "greeted"}, {Step: "close", After: 50 * time.Millisecond}, {Step: "closed", After: 50 * time.Millisecond},
	})
}

// onBtrfs is docker with another default.
type onBtrfs struct{ *Platform }

func (p onBtrfs) Options() []bench.Option {
	options := p.Platform.Options()
	for i := range options {
		if options[i].Name == "driver" {
			options[i].Default = "btrfs"
		}
	}
	return options
}

// TestCrashOnBtrfs kills runs with two daemons, one of which has a file system of its own.
func TestCrashOnBtrfs(t *testing.T) {
	if _, err := New(t.TempDir()).Check(t.Context()); err != nil {
		t.Skip(err)
	}
	if _, err := launch.Program("mkfs.btrfs"); err != nil {
		t.Skip(err)
	}
	const name = "dockerbtrfs"
	launchtest.Crash(t, name, func(state string) bench.Platform { return onBtrfs{New(state)} }, []launchtest.Moment{
		{Step: "start", After: 100 * time.Millisecond}, {Step: "start", After: 500 * time.Millisecond},
		{Step: "greeted"}, {Step: "close", After: 50 * time.Millisecond},
	})
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), name) {
			t.Errorf("%s is still %s", f, text)
		}
	}
}

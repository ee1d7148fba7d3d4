package lxc

import (
	"os"
	"testing"

	"tare/internal/platform/launch"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{})
}

func TestConformanceUnprivileged(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"userns": "yes"}})
}

// A system container needs an image with systemd.
func TestConformanceSystem(t *testing.T) {
	root, err := platformtest.Image(t).Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(root + launch.Init); err != nil {
		t.Skipf("the image has no init system: %v", err)
	}
	platformtest.Run(t, New(), platformtest.Options{Slow: 2, Options: map[string]string{"init": "systemd"}})
}

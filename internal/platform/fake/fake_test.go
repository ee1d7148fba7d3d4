package fake

import (
	"testing"

	"tare/internal/platform/platformtest"
)

// TestConformance runs the part of the suite that the fake claims.
func TestConformance(t *testing.T) {
	const (
		shared    = "it runs in the host's own file system and network"
		unlimited = "it enforces nothing"
	)
	platformtest.Run(t, New(Options{Label: "a fake in its place"}), platformtest.Options{Lacks: map[string]string{
		"lab": shared, "network": shared, "scratch": shared, "two at once": shared, "four at once": shared,
		"cpus": unlimited, "cpu quota": unlimited, "memory limit": unlimited, "disk rate": unlimited, "pids limit": unlimited,
		"refused cpu set": unlimited, "image": shared,
		"scope":          "it makes no cgroup",
		"turns":          "it makes no cgroup",
		"missing image":  "it uses none",
		"flood of words": "it keeps all that is printed",
	}})
}

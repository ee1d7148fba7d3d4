// Package containerd runs instances by containerd and its shim, asked by ctr,
// from the same bundle as a bare runtime: what differs is the daemon's way to it.
package containerd

import (
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/oci"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:    "containerd",
		Program: "ctr",
		Needs:   []string{"containerd"},
		Summary: "containers of a containerd of Tare's own, by ctr",
		Install: "install containerd, such as: apt-get install containerd",
		Options: []bench.Option{
			{Name: "runtime", Values: []string{"runc", "crun"}, Default: "runc", Doc: "what runs the container below the shim"},
		},
		Setup:  start,
		Run:    run,
		Delete: func(s oci.Site) []string { return append(client(s), "tasks", "rm", "--force", s.Launch.ID) },
		Part:   "client", Watcher: "shim",
	})
}

// socket is where the daemon is asked.
func socket(state string) string { return filepath.Join(state, "containerd.sock") }

func client(s oci.Site) []string { return []string{"--address", socket(s.State)} }

// run names the runtime by its path, which the shim does not look for.
func run(s oci.Site) []string {
	runtime := s.Launch.Options["runtime"]
	if path, err := launch.Program(runtime); err == nil {
		runtime = path
	}
	return append(client(s), "run", "--rm", "--fifo-dir", filepath.Join(s.State, "fifo"), "--runc-binary", runtime,
		"--config", filepath.Join(s.Bundle, "config.json"), s.Launch.ID)
}

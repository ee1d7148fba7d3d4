// Package containerd runs instances by containerd and its shim, asked by ctr,
// from the same bundle as a bare runtime: what differs is the daemon's way to it.
package containerd

import (
	"cmp"
	"path/filepath"
	"time"

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
		Traits: bench.Traits{
			Launch:   300 * time.Millisecond,
			Programs: []bench.Program{{Name: "containerd", Package: "containerd"}, {Name: "ctr", Package: "containerd"}, {Name: "runc", Package: "runc"}},
			Nesting:  &bench.Nesting{},
		},
		Options: []bench.Option{
			{Name: "runtime", Values: []string{"runc", "crun"}, Default: "runc", Doc: "what runs the container below the shim"},
			oci.Chosen("the path of the program that runs the container below the shim, in the place of the option runtime; it is asked as runc is"),
		},
		Setup: start,
		Run:   run,
		Delete: func(s oci.Site) [][]string {
			return [][]string{append(client(s), "tasks", "rm", "--force", s.Launch.ID), append(client(s), "containers", "rm", s.Launch.ID)}
		},
		Part: "client", Watcher: "shim",
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
	runtime = cmp.Or(s.Launch.Options[bench.ProgramOption], runtime)
	return append(client(s), "run", "--rm", "--fifo-dir", filepath.Join(s.State, "fifo"), "--runc-binary", runtime,
		"--config", filepath.Join(s.Bundle, "config.json"), s.Launch.ID)
}

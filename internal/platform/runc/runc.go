// Package runc runs instances by runc, the runtime under Docker and containerd,
// without either.
package runc

import (
	"time"

	"tare/internal/bench"
	"tare/internal/platform/oci"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:    "runc",
		Program: "runc",
		Summary: "OCI bundles by runc: the containers of Docker without its daemons",
		Install: "install runc, such as: apt-get install runc",
		Chooses: true,
		Traits: bench.Traits{
			Launch:   200 * time.Millisecond,
			Programs: []bench.Program{{Name: "runc", Package: "runc"}, oci.CRIU},
			Nesting:  &bench.Nesting{},
		},

		Restores: true,
	})
}

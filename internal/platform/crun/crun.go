// Package crun runs instances by crun, the runtime in C that Podman prefers.
package crun

import (
	"time"

	"tare/internal/bench"
	"tare/internal/platform/oci"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:    "crun",
		Program: "crun",
		Summary: "OCI bundles by crun, the runtime in C",
		Install: "install crun, such as: apt-get install crun",
		Chooses: true,
		Traits: bench.Traits{
			Launch: 200 * time.Millisecond,
			Programs: []bench.Program{ // It makes the directory in which it keeps containers before it says which that is.
				{Name: "crun", Package: "crun", Args: []string{"--root=/", "--version"}}, oci.CRIU,
			},
			Nesting: &bench.Nesting{},
		},

		Restores:       true,
		RestoreFeature: "+CRIU",
	})
}

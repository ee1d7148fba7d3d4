// Package crun runs instances by crun, the runtime in C that Podman prefers.
package crun

import (
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

		Restores:       true,
		RestoreFeature: "+CRIU",
	})
}

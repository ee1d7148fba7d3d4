package store

import "tare/internal/bench"

// Format is the version of the folder's layout. [Open] also reads the one before
// and refuses any other.
const Format = "tare-run/2"

// Header is run.json: what the run was made with.
type Header struct {
	Format string `json:"format"` // set by Create
	Run    string `json:"run"`    // the run's id
	// Tare and Agent are the versions of the two programs.
	Tare  string `json:"tare"`
	Agent string `json:"agent"`
	// Image is the golden image's digest, "sha256:...", and Programs the
	// versions of the benchmark programs in it.
	Image    string            `json:"image"`
	Programs map[string]string `json:"programs,omitempty"`
	// ImageMade is when this host's copy of the image was made (RFC 3339): its files have their
	// places on the disk since then. Headers of older versions lack it.
	ImageMade string `json:"image_made,omitempty"`
	// Platforms are the versions found on the host, by platform name.
	Platforms map[string]Platform `json:"platforms,omitempty"`
	Started   string              `json:"started"` // RFC 3339
	// Command is the command line as it was given.
	Command []string `json:"command"`
	// Spec is the specification as the user named it, a path or a built-in's
	// name, and Set the overrides (path=value) applied to it.
	Spec string   `json:"spec"`
	Set  []string `json:"set,omitempty"`
	// ObserverCPUs are the CPUs the sampler was bound to; empty if it was not.
	ObserverCPUs []int `json:"observer_cpus,omitempty"`
	// Chosen are the files of the host that platforms name by an option.
	Chosen []Chosen `json:"chosen,omitempty"`
	// Power are the meters of what the machine draws, without their secrets.
	Power []bench.PowerSource `json:"power,omitempty"`
}

// Chosen is a file of the host that a platform uses in the place of its own: a program, or the
// kernel that a guest boots.
type Chosen struct {
	Platform string `json:"platform"`         // with its options
	Option   string `json:"option,omitempty"` // "kernel"; a program's is left out
	Path     string `json:"path"`
	Digest   string `json:"digest"`  // "sha256:..."
	Version  string `json:"version"` // of a kernel its release
}

// Platform is a platform as the host offered it.
type Platform struct {
	Version  string            `json:"version"`
	Label    string            `json:"label,omitempty"`
	Programs map[string]string `json:"programs,omitempty"`
	// Files are those of its programs, for a platform of the plan.
	Files []bench.ProgramFile `json:"files,omitempty"`
}

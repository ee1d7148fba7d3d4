// Package gvisor runs instances in gVisor's sandbox by runsc: a kernel in user
// space, the Sentry, answers their system calls.
package gvisor

import (
	"fmt"
	"regexp"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/oci"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:    "gvisor",
		Program: "runsc",
		Summary: "gVisor sandboxes by runsc: system calls answered by a kernel in user space",
		Install: "install runsc of 2025 or later: see https://gvisor.dev/docs/user_guide/install/",
		Chooses: true,
		Traits: bench.Traits{
			Launch:   300 * time.Millisecond,
			Programs: []bench.Program{{Name: "runsc", Package: "runsc", Optional: true}},
			Trial:    &bench.TrialStart{Option: "platform"},
			Nesting: &bench.Nesting{
				Guest: bench.MachineGuest, Program: "runsc",
				Carry: []string{"runsc"}, // the distribution's is too old
			},
		},
		Options: []bench.Option{
			{Name: "platform", Values: []string{"systrap", "ptrace"}, Default: "systrap",
				Doc: "how system calls are caught: systrap: by seccomp's traps; ptrace: by a tracer, slower"},
			{Name: "stack", Values: []string{"netstack", "host"}, Default: "netstack",
				Doc: "whose TCP/IP: netstack: gVisor's own; host: the host's, passed through"},
			{Name: "overlay", Values: []string{"self", "memory", "none"}, Default: "self",
				Doc: "where writes to the root go: self: a file in it, kept by the sandbox; memory: the sandbox's memory; none: the file system of the host"},
		},
		Flags:  flags,
		Refuse: refuse,
		Doubts: doubts,

		OwnKernel: true,
		Unfrozen:  launch.ErrSandboxFrozen,
		Parts:     map[string]string{"runsc-sandbox": "sandbox", "runsc-gofer": "gofer"},
		Caveats: []bench.Caveat{
			{Text: "O_DIRECT not honoured: its disk figures include the host's page cache"},
			{Text: "guest CPU times unreliable: read the host's control group"},
			{Text: "killed as a whole when it runs out of memory"},
		},
	})
}

// flags are runsc's global flags.
func flags(options map[string]string) []string {
	network := map[string]string{"netstack": "sandbox", "host": "host"}[options["stack"]]
	overlay := map[string]string{"self": "root:self", "memory": "root:memory", "none": "none"}[options["overlay"]]
	if options["net"] == "none" {
		network = "none"
	}
	return []string{"--platform=" + options["platform"], "--network=" + network, "--overlay2=" + overlay}
}

var date = regexp.MustCompile(`20[0-9]{6}`)

// refuse a runsc that a run cannot rely on. That of 2024-07, Debian's until now,
// now and then never reports the end of a killed process, and on newer kernels takes every
// network namespace for the host's; that of 2026-02 does neither.
func refuse(version string) error {
	if d := date.FindString(version); d != "" && d < "20250101" {
		return fmt.Errorf("runsc %s is too old: it may hang when processes are killed", version)
	}
	return nil
}

// doubts says of a build that has no release's date, such as one of one's own, that it may be as old.
func doubts(version string) []bench.Caveat {
	if date.MatchString(version) {
		return nil
	}
	return []bench.Caveat{{Text: "runsc says " + version + " and no release's date: one before 2025 may hang when processes are killed"}}
}

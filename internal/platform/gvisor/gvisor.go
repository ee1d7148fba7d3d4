// Package gvisor runs instances in gVisor's sandbox by runsc: a kernel in user
// space, the Sentry, answers their system calls.
package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/oci"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:    "gvisor",
		Program: "runsc",
		Summary: "gVisor sandboxes by runsc: system calls answered by a kernel in user space",
		Install: "install runsc of 2023 or later, such as: apt-get install -t bookworm-backports runsc",
		Options: []bench.Option{
			{Name: "platform", Values: []string{"systrap", "ptrace"}, Default: "systrap",
				Doc: "how system calls are caught: systrap: by seccomp's traps; ptrace: by a tracer, slower"},
			{Name: "stack", Values: []string{"netstack", "host"}, Default: "netstack",
				Doc: "whose TCP/IP: netstack: gVisor's own; host: the host's, passed through"},
			{Name: "overlay", Values: []string{"self", "memory", "none"}, Default: "self",
				Doc: "where writes to the root go: self: a file in it, kept by the sandbox; memory: the sandbox's memory; none: the file system of the host"},
		},
		Flags: flags,
		Probe: probe,
		Parts: map[string]string{"runsc-sandbox": "sandbox", "runsc-gofer": "gofer"},
		Caveats: []bench.Caveat{
			{Text: "O_DIRECT not honoured: its disk figures include the host's page cache"},
			{Text: "guest CPU times unreliable: read the host's control group"},
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

// probe refuses a runsc from before systrap, such as Debian 12's own.
func probe(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, path, "flags").CombinedOutput()
	if err != nil {
		return fmt.Errorf("runsc flags: %w", err)
	}
	if !strings.Contains(string(out), "systrap") {
		return errors.New("this runsc is too old: it has no systrap")
	}
	return nil
}

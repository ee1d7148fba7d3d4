// Package libkrun runs containers as virtual machines by krun: crun built with
// libkrun, which is a monitor and a kernel in a library. The container's root reaches
// the guest over virtio-fs; its sockets are opened by the monitor, in the
// container's network namespace.
package libkrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/bench"
	"tare/internal/platform/oci"
	"tare/internal/platform/vm"
)

// New returns the platform.
func New() bench.Platform {
	return oci.New(oci.Runtime{
		Name:      "libkrun",
		Program:   "krun",
		Summary:   "OCI bundles as virtual machines by krun: crun with libkrun, with KVM",
		Install:   "install crun 1.27 or later built with libkrun as krun, such as: dnf install crun-krun",
		Traits:    bench.Traits{Programs: []bench.Program{{Name: "crun", Package: "crun", Args: []string{"--root=/", "--version"}}}},
		Feature:   "+LIBKRUN",
		Host:      vm.NeedKVM,
		OwnKernel: true,
		Parts:     map[string]string{"krun": "vmm"},
		Threads:   &bench.Threads{VCPU: []string{"fc_vcpu *"}},
		Caveats: []bench.Caveat{
			{Text: "network by proxy: the guest's sockets are opened by the monitor on the host"},
			{Text: "files by virtio-fs: disk figures are those of the host's file system behind it"},
		},
		Refuse: refuse,
		Adapt:  adapt,
	})
}

// refuse a krun that cannot be told the machine's size: the memory of one before 1.27
// is the container's limit, which has to hold the monitor as well.
func refuse(version string) error {
	number, _, _ := strings.Cut(version, "-")
	parts := strings.Split(number, ".")
	if len(parts) < 2 {
		return fmt.Errorf("krun %q: not a version", version)
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return fmt.Errorf("krun %q: not a version", version)
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "+~abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		return fmt.Errorf("krun %q: not a version", version)
	}
	if major < 1 || major == 1 && minor < 27 {
		return fmt.Errorf("krun %s is too old: it cannot be told the machine's memory", version)
	}
	return nil
}

// What krun can make (krun(1), OCI Annotations).
const (
	mostCPUs    = 16
	leastMemory = 128 * bench.MiB
)

// adapt tells the size of the machine, and gives the monitor room beside it. The
// number of tasks inside is the guest kernel's affair.
func adapt(s *specs.Spec, l bench.Launch) (unenforced []string, err error) {
	switch m := l.Shape.Memory; {
	case l.Shape.CPUs > mostCPUs:
		return nil, fmt.Errorf("%d CPUs: krun has at most %d: %w", l.Shape.CPUs, mostCPUs, bench.ErrInvalid)
	case m <= leastMemory || m%bench.MiB != 0:
		return nil, fmt.Errorf("memory %v: krun takes whole MiB of more than %v: %w", m, leastMemory, bench.ErrInvalid)
	}
	s.Annotations = map[string]string{
		"krun.cpus":    strconv.Itoa(l.Shape.CPUs),
		"krun.ram_mib": strconv.FormatInt(int64(l.Shape.Memory/bench.MiB), 10),
	}
	s.Process.Args = append(slices.Clone(s.Process.Args), "--own-kernel")
	if memory := s.Linux.Resources.Memory; memory != nil {
		limit := int64(l.Shape.Memory + vm.Allowance)
		memory.Limit = &limit
		if memory.Swap != nil {
			memory.Swap = &limit
		}
	}
	if s.Linux.Resources.Pids != nil {
		s.Linux.Resources.Pids = nil
		unenforced = append(unenforced, "pids limit")
	}
	return unenforced, nil
}

package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// kata is Kata Containers: a virtual machine for each container, of which the
// shim is in charge. There is no runtime below it that Docker would be told of.
const kata = "kata"

// shimKata is its shim, of the name that containerd makes of io.containerd.kata.v2.
const shimKata = "containerd-shim-kata-v2"

const installKata = bench.Hint("install Kata Containers of https://github.com/kata-containers/kata-containers/releases into /opt/kata, or use docker[runtime=runc]")

// findKata returns the path of Kata's shim, which its releases do not put into
// the PATH.
func findKata() (string, error) {
	path, err := launch.Program(shimKata)
	if err == nil {
		return path, nil
	}
	if path, releasedErr := launch.Program("/opt/kata/bin/" + shimKata); releasedErr == nil {
		return path, nil
	}
	return "", err
}

// firstShims is the first dockerd whose runtimes can be shims.
const firstShims = 23

// dockerHasShims says whether that version of dockerd takes a shim for a runtime.
func dockerHasShims(version string) error {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return fmt.Errorf("dockerd %q: not a version", version)
	}
	if n < firstShims {
		return fmt.Errorf("runtime=kata with dockerd %s, which takes no shims: %w%w", version, bench.ErrUnavailable,
			bench.Hint(fmt.Sprintf("install Docker Engine %d or later, see https://docs.docker.com/engine/install/", firstShims)))
	}
	return nil
}

// kataAvailable returns an error if dockerd could not run a container by Kata.
func kataAvailable(ctx context.Context) (path string, err error) {
	if path, err = findKata(); err != nil {
		return "", fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, installKata)
	}
	version, err := launch.Version(ctx, "dockerd")
	if err != nil {
		return "", err
	}
	return path, dockerHasShims(version)
}

// checkKata refuses what Kata cannot do: of the host's network it would take the
// devices away (its docs/Limitations.md).
func checkKata(options map[string]string) error {
	if options["runtime"] == kata && options["net"] == "host" {
		return errKataHost
	}
	if options["runtime"] == kata && options[bench.ProgramOption] != "" {
		return fmt.Errorf("%s with runtime=kata, whose shim alone is in charge: %w%w", bench.ProgramOption, bench.ErrInvalid, bench.Hint("use another runtime"))
	}
	return nil
}

var errKataHost = fmt.Errorf("net=host with runtime=kata: a virtual machine has a network of its own: %w%w", bench.ErrInvalid, bench.Hint("use net=bridge"))

// kataParts are what Kata starts, by the first word of the command line; the
// monitor is told by its process id.
var kataParts = map[string]string{shimKata: "shim", "virtiofsd": "virtiofsd"}

// kataThreads are those of the monitors that Kata can be built with: QEMU, Cloud
// Hypervisor and Firecracker.
var kataThreads = &bench.Threads{
	VCPU: append([]string{"vcpu[0-9]*", "fc_vcpu *"}, vm.QEMUThreads.VCPU...),
	IO:   append([]string{"_disk*", "_net*"}, vm.QEMUThreads.IO...),
}

// kataHelpers finds under proc the processes that serve the container with that id,
// which stands in the command line of each: the monitor, whose process Docker
// takes for the container's, the shim and the server of its files.
func kataHelpers(proc, id string, monitor int) ([]bench.Process, error) {
	list := []bench.Process{{PID: monitor, Part: "vmm", Threads: kataThreads}}
	lines, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "cmdline"))
	if err != nil {
		return nil, err
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), id) {
			continue // it ended meanwhile, or serves another
		}
		word, _, _ := strings.Cut(string(text), "\x00")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		if part := kataParts[filepath.Base(word)]; part != "" && pid != monitor {
			list = append(list, bench.Process{PID: pid, Part: part})
		}
	}
	if !slices.ContainsFunc(list, func(p bench.Process) bool { return p.Part == "shim" }) {
		return nil, fmt.Errorf("no %s serves container %.12s", shimKata, id)
	}
	return list, nil
}

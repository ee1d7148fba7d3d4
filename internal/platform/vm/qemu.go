package vm

import (
	"context"
	"fmt"
	"regexp"
	"runtime"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// QEMU is the system emulator for the machines these drivers know.
const QEMU = "qemu-system-x86_64"

// QEMUPrograms are those of QEMU's that its drivers run, and [Programs].
func QEMUPrograms() []bench.Program {
	emulator := "qemu-system-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	pkg := map[string]string{"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}[runtime.GOARCH]
	return append([]bench.Program{{Name: emulator, Package: pkg}, {Name: "qemu-img", Package: "qemu-utils"}}, Programs()...)
}

// QEMUThreads are its threads, as it calls them under "-name debug-threads=on".
var QEMUThreads = &bench.Threads{
	VCPU: []string{"CPU */*", "ALL CPUs/*"},       // "CPU 0/KVM"; one thread for all: tcg,thread=single
	IO:   []string{"IO *", "iothread*", "worker"}, // "IO io0"
}

// QEMUVersion asks QEMU for its version.
func QEMUVersion(ctx context.Context) (string, error) {
	out, err := launch.Output(ctx, QEMU, "--version")
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, bench.ErrUnavailable)
	}
	version, err := parseQEMU(string(out))
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, bench.ErrUnavailable)
	}
	return version, nil
}

var versionLine = regexp.MustCompile(`^QEMU emulator version (\d+(?:\.\d+)+)`)

// parseQEMU reads what QEMU prints for --version.
func parseQEMU(out string) (string, error) {
	m := versionLine.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("no version in %.200q", out)
	}
	return m[1], nil
}

// QEMUTrial is the trial of KVM by QEMU, whose verdict all drivers of QEMU share.
func QEMUTrial(state string) *Trial {
	return &Trial{Monitor: "qemu", State: state, Argv: func(_ context.Context, _ bench.Env, id, kernel, initrd string) ([]string, error) {
		return QEMUTrialArgv("kvm", "host", id, kernel, initrd), nil
	}}
}

// QEMUTrialArgv is the command line of a trial boot with an accelerator and a CPU.
func QEMUTrialArgv(accel, cpu, id, kernel, initrd string) []string {
	return []string{QEMU, "-name", id, "-accel", accel, "-cpu", cpu,
		"-machine", "q35", "-m", "256M", "-nodefaults", "-no-user-config", "-display", "none",
		"-no-reboot", "-serial", "stdio", "-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 panic=-1"}
}

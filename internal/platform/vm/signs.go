package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

// signs are what a host says about its virtualization without being asked to
// do any. They explain a verdict; only a trial boot gives one.
type signs struct {
	device error  // why /dev/kvm cannot be opened; nil if it can
	flag   string // the CPU's virtualization: "svm" (AMD), "vmx" (Intel) or none
	guest  bool   // the host is itself a virtual machine
	pvm    bool   // KVM's backend is the paravirtual one, which needs no such CPU
}

// NeedKVM says whether the host offers KVM at all, which does not tell that it
// runs a guest: see [Trial].
func NeedKVM() error {
	s, err := readSigns("/")
	if err != nil {
		return err
	}
	return s.refuse()
}

// readSigns looks at the host whose files lie under root.
func readSigns(root string) (signs, error) {
	var s signs
	device, err := os.OpenFile(filepath.Join(root, "dev/kvm"), os.O_RDWR, 0)
	if err == nil {
		err = device.Close()
	}
	s.device = err
	text, err := os.ReadFile(filepath.Join(root, "proc/cpuinfo"))
	if err != nil {
		return s, fmt.Errorf("look for virtualization: %w", err)
	}
	if err := s.cpu(string(text)); err != nil {
		return s, fmt.Errorf("look for virtualization: %w", err)
	}
	_, err = os.Stat(filepath.Join(root, "sys/module/kvm_pvm"))
	s.pvm = err == nil
	return s, nil
}

// cpu reads the flags of the first CPU in the text of /proc/cpuinfo.
func (s *signs) cpu(text string) error {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "flags" {
			continue
		}
		for _, f := range strings.Fields(value) {
			switch f {
			case "svm", "vmx":
				s.flag = f
			case "hypervisor":
				s.guest = true
			}
		}
		return nil
	}
	return errors.New("/proc/cpuinfo has no line of flags")
}

// refuse returns why KVM cannot be worth a trial, or nil.
func (s signs) refuse() error {
	switch {
	case s.device == nil:
		return nil
	case !errors.Is(s.device, fs.ErrNotExist):
		return fmt.Errorf("%w: %w%w", s.device, bench.ErrUnavailable, bench.Hint("run as root, or join the group that owns /dev/kvm"))
	case s.flag != "":
		return fmt.Errorf("no /dev/kvm, though the CPU has %s: %w%w", s.flag, bench.ErrUnavailable,
			bench.Hint("modprobe kvm_"+map[string]string{"svm": "amd", "vmx": "intel"}[s.flag]))
	case s.guest:
		return fmt.Errorf("no /dev/kvm: this host is a virtual machine without nested virtualization: %w%w",
			bench.ErrUnavailable, bench.Hint("switch nested virtualization on for this machine, or use qemu-tcg, which is emulated"))
	}
	return fmt.Errorf("no /dev/kvm: the CPU offers no virtualization: %w%w", bench.ErrUnavailable,
		bench.Hint("switch virtualization on in the firmware's settings (SVM, VT-x)"))
}

// explain says in plain words what is special about the host's virtualization,
// or nothing.
func (s signs) explain() string {
	switch {
	case s.pvm:
		return "this host's KVM is a paravirtual one (module kvm_pvm) that works without the CPU's own virtualization " +
			"and is made for guest kernels adapted to it; a stock kernel is not"
	case s.flag == "":
		return "the CPU shows neither svm nor vmx"
	case s.guest:
		return "this host is itself a virtual machine, with nested virtualization"
	}
	return ""
}

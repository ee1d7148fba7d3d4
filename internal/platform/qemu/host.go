package qemu

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// hostFiles is where the host's files lie, "/" except in tests.
type hostFiles string

// allows refuses options that the host is not set up for.
func (h hostFiles) allows(o map[string]string, memory bench.Bytes) error {
	if o[optKSM] == "on" {
		if err := h.merges(); err != nil {
			return err
		}
	}
	if o[optPages] == pagesHuge {
		if err := vm.NeedHuge(string(h), memory); err != nil {
			return err
		}
	}
	return vm.NeedFormat(o[optDisk])
}

// lacks are the variants that this host, or this QEMU, cannot run.
func (p *Platform) lacks(ctx context.Context) []bench.Lack {
	const host = hostFiles("/")
	a := bench.Availability{Lacks: slices.Clone(exclusive)}
	a.Lack(optDisk, vm.Qcow2, vm.NeedFormat(vm.Qcow2))
	a.Lack(optAIO, aioNative, builtWith("libaio.so"))
	a.Lack(optAIO, aioURing, cmp.Or(vm.NeedURing("/"), builtWith("liburing.so")))
	a.Lack(optNet, netUser, builtWith("libslirp.so"))
	_, err := useVhost("on")
	a.Lack(optVhost, "on", err)
	a.Lack(optPages, pagesHuge, vm.NeedAnyHuge(string(host)))
	a.Lack(optKSM, "on", host.merges())
	if slices.ContainsFunc(p.options, func(o bench.Option) bool { return slices.Contains(o.Values, machineMicro) }) {
		a.Lack(optMachine, machineMicro, needMicro(ctx))
	}
	return a.Lacks
}

// builtWith says whether QEMU was built with a library, by what it is linked to. One that
// is linked to nothing at all does not tell, and is taken at its word.
func builtWith(library string) error {
	path, err := launch.Program(program)
	if err != nil {
		return err
	}
	file, err := elf.Open(path)
	if err != nil {
		return nil // a script around it
	}
	defer file.Close()
	linked, err := file.ImportedLibraries()
	if err != nil || len(linked) == 0 || slices.ContainsFunc(linked, func(l string) bool { return strings.HasPrefix(l, library) }) {
		return nil
	}
	return fmt.Errorf("%s was built without %s: %w%w", program, strings.TrimSuffix(library, ".so"), bench.ErrUnavailable,
		bench.Hint("install a QEMU built with it, such as your distribution's"))
}

// needMicro says whether QEMU knows the machine microvm, which small builds leave out.
func needMicro(ctx context.Context) error {
	out, err := launch.Output(ctx, program, "-machine", "help")
	if err != nil {
		return err
	}
	if !strings.Contains("\n"+string(out), "\n"+machineMicro+" ") {
		return fmt.Errorf("%s was built without the machine %s: %w%w", program, machineMicro, bench.ErrUnavailable, bench.Hint("use machine=q35"))
	}
	return nil
}

// merges says whether the host merges equal pages (Documentation/admin-guide/mm/ksm.rst).
func (h hostFiles) merges() error {
	const file = "sys/kernel/mm/ksm/run"
	text, err := os.ReadFile(filepath.Join(string(h), file))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ksm=on: the host's kernel has no samepage merging: %w%w", bench.ErrUnavailable, bench.Hint("boot a kernel built with CONFIG_KSM"))
	}
	if err != nil {
		return fmt.Errorf("ksm=on: %w", err)
	}
	if strings.TrimSpace(string(text)) != "1" {
		return fmt.Errorf("ksm=on: the host merges no pages: %w%w", bench.ErrUnavailable, bench.Hint("echo 1 > /"+file))
	}
	return nil
}

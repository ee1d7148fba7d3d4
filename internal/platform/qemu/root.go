package qemu

import (
	"context"
	"fmt"
	"path/filepath"

	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// rootFile is the name of an instance's own root disk in the format.
func rootFile(format string) string { return "root." + format }

// makeRoot makes the root disk of an instance in dir over the image, or as a
// copy of it whose holes stay holes and which shares no block with it.
func makeRoot(ctx context.Context, dir, kind, image string) error {
	file := filepath.Join(dir, rootFile(kind))
	var err error
	switch kind {
	case vm.Qcow2:
		if err = vm.NeedFormat(vm.Qcow2); err == nil {
			_, err = launch.Output(ctx, "qemu-img", "create", "-q", "-f", vm.Qcow2, "-F", vm.Raw, "-b", image, file)
		}
	case vm.Raw:
		_, err = launch.Output(ctx, "cp", "--sparse=always", "--reflink=never", image, file)
	}
	if err != nil {
		return fmt.Errorf("root disk: %w", err)
	}
	return nil
}

// rootDrive is the root disk in QEMU's option syntax. The image is locked by
// nobody who only reads it.
func (m machine) rootDrive() string {
	switch kind := m.options[optRoot]; kind {
	case vm.Qcow2:
		return "format=qcow2,file=" + rootFile(kind) + ",backing.driver=raw,backing.file.driver=file,backing.file.locking=off,backing.file.filename=" + escape(m.root)
	case vm.Raw:
		return "format=raw,file=" + rootFile(kind)
	}
	return shared(m.root)
}

// shared is a raw file that machines read together and none writes to: each has a layer of its own over it.
func shared(file string) string {
	return "format=raw,snapshot=on,file.locking=off,file=" + escape(file)
}

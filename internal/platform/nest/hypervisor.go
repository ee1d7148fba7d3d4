package nest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// hypervisor unpacks the hypervisor into dir, since QEMU takes it as it is, and
// finds the modules of the control domain's kernel.
func (e *engine) hypervisor(ctx context.Context) (file, modules string, err error) {
	fail := func(err error) (string, string, error) { return "", "", fmt.Errorf("hypervisor: %w", err) }
	root, err := e.hosts.Root(ctx)
	if err != nil {
		return fail(err)
	}
	if _, modules, err = e.hosts.Kernel(ctx); err != nil {
		return fail(err)
	}
	packed, err := os.Open(filepath.Join(root, e.p.setup.Hypervisor))
	if err != nil {
		return fail(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return fail(fmt.Errorf("unpack %s: %w", e.p.setup.Hypervisor, err))
	}
	dir, err := filepath.Abs(e.env.Dir)
	if err != nil {
		return fail(err)
	}
	file = filepath.Join(dir, "hypervisor")
	w, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fail(err)
	}
	_, err = io.Copy(w, plain)
	if err = errors.Join(err, w.Close()); err != nil {
		return fail(errors.Join(err, os.Remove(file)))
	}
	return file, modules, nil
}

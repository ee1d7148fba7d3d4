package own

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// What the files are called in messages, and among a run's own files.
const (
	kernelName = "kernel"
	InitrdName = "initrd"
	DiskName   = "disk"
)

// maxBoot bounds a kernel, an initial RAM file system and a disk of the user's own.
const maxBoot = 2 * bench.GiB

// Kernel reads the files of a kernel of the user's own: what they are, and their digests.
func Kernel(ctx context.Context, k bench.OwnKernel) (*bench.OwnKernel, error) {
	if err := read(ctx, kernelName, &k.Kernel, checkKernel, io.Discard); err != nil {
		return nil, err
	}
	err := others(&k, func(name string, f *bench.BootFile) error { return read(ctx, name, f, nil, io.Discard) })
	return &k, err
}

// Keep copies the files of a kernel into a directory, so that a run boots the same whatever becomes of
// them, and returns the kernel with the copies' paths. A file that is not what it was is an error.
func Keep(ctx context.Context, k bench.OwnKernel, dir string) (*bench.OwnKernel, error) {
	if err := keep(ctx, kernelName, &k.Kernel, dir); err != nil {
		return nil, err
	}
	err := others(&k, func(name string, f *bench.BootFile) error { return keep(ctx, name, f, dir) })
	return &k, err
}

// others puts copies in the place of the files beside the kernel, and does something with each.
func others(k *bench.OwnKernel, do func(name string, f *bench.BootFile) error) error {
	for _, o := range []struct {
		name string
		at   **bench.BootFile
	}{{InitrdName, &k.Initrd}, {DiskName, &k.Disk}} {
		if *o.at == nil {
			continue
		}
		f := **o.at
		*o.at = &f
		if err := do(o.name, &f); err != nil {
			return err
		}
	}
	return nil
}

func keep(ctx context.Context, name string, f *bench.BootFile, dir string) error {
	now := *f
	now.Path = filepath.Join(dir, name)
	to, err := os.OpenFile(now.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy the %s: %w", name, err)
	}
	was := *f
	err = read(ctx, name, &was, nil, to)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	if was.Digest != f.Digest {
		return fmt.Errorf("%s %s is %s by now, and not %s: %w%w", name, f.Path, was.Digest, f.Digest, bench.ErrInvalid,
			bench.Hint("trials of different files must not be mixed; start a new run"))
	}
	*f = now
	return nil
}

// headRead is how much of a file its check is shown, in bytes.
const headRead = 4096

// read reads a file that passes the check of its beginning to its end into w, and fills in its size and
// digest. It waits for no writer of a pipe, and takes nothing that has no end.
func read(ctx context.Context, name string, f *bench.BootFile, check func(head []byte) error, w io.Writer) error {
	refuse := func(err error) error { return fmt.Errorf("%s %s: %w: %w", name, f.Path, err, bench.ErrInvalid) }
	file, err := os.OpenFile(f.Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w: %w%w", name, err, bench.ErrInvalid, bench.Hint("its path is relative to the directory tare is started in"))
	}
	if err != nil {
		return refuse(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return refuse(err)
	case !info.Mode().IsRegular():
		return refuse(fmt.Errorf("not a file%w", bench.Hint("name a file of this host, no directory, device or pipe")))
	case info.Size() > int64(maxBoot):
		return refuse(fmt.Errorf("it has %v: at most %v are booted", bench.Bytes(info.Size()), maxBoot))
	case info.Size() == 0:
		return refuse(errors.New("it is empty"))
	}
	head := make([]byte, headRead)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(err)
	}
	if check != nil {
		if err := check(head[:n]); err != nil {
			return refuse(err)
		}
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(sum, w), io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), untilDone{ctx, file}), int64(maxBoot)+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", name, f.Path, err)
	case size > int64(maxBoot):
		return refuse(fmt.Errorf("it grew beyond the %v that are booted", maxBoot))
	}
	f.Size, f.Digest = bench.Bytes(size), "sha256:"+hex.EncodeToString(sum.Sum(nil))
	return nil
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	context.Context
	from io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if r.Err() != nil {
		return 0, context.Cause(r)
	}
	return r.from.Read(p)
}

// Where a bzImage has its magic (Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header").
const atHeaderMagic = 0x202 // "HdrS"

// machines are those that an ELF file may be for on the architectures that Go names: a monitor enters
// a kernel for x86-64 in 32-bit mode, too (Multiboot, PVH).
var machines = map[string][]elf.Machine{
	"amd64": {elf.EM_X86_64, elf.EM_386},
	"arm64": {elf.EM_AARCH64},
}

// checkKernel is an error for the beginning of a file that no monitor starts: it is neither a bzImage
// nor an ELF file for this host's processor.
func checkKernel(head []byte) error {
	const atKind, atMachine, headerEnd = 16, 18, 20 // the same in both classes (elf(5), Elf64_Ehdr)
	if bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		if len(head) < headerEnd || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB {
			return fmt.Errorf("an ELF file that begins with %.20q: its header is cut off, or not of a little-endian machine", head)
		}
		machine := elf.Machine(uint16(head[atMachine]) | uint16(head[atMachine+1])<<8)
		kind := elf.Type(uint16(head[atKind]) | uint16(head[atKind+1])<<8)
		for _, m := range machines[runtime.GOARCH] {
			if m == machine && (kind == elf.ET_EXEC || kind == elf.ET_DYN) {
				return nil
			}
		}
		return fmt.Errorf("an ELF file of type %v for %v, which this host's monitors do not start", kind, machine)
	}
	if len(head) >= atHeaderMagic+4 && string(head[atHeaderMagic:atHeaderMagic+4]) == "HdrS" {
		return nil
	}
	return fmt.Errorf("neither an ELF file nor a bzImage: begins with %.16q%w", head, bench.Hint("name the kernel image that a monitor starts, such as QEMU by -kernel"))
}

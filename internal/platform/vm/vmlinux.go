package vm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/platform/launch"
)

// Vmlinux returns the absolute path of the kernel as an uncompressed ELF file
// with the entry point of PVH, which monitors without a boot loader start. What
// the image holds is a bzImage; it is unpacked in dir, once for each kernel.
func Vmlinux(ctx context.Context, dir, kernel string) (string, error) {
	path, err := vmlinux(ctx, dir, kernel)
	if err != nil {
		return "", fmt.Errorf("unpack kernel %s: %w", kernel, err)
	}
	return path, nil
}

// Uncompressed returns the path of a kernel of the user's own as monitors without a boot loader start
// it: an ELF file as it is, and of a bzImage what [Vmlinux] makes of it.
func Uncompressed(ctx context.Context, dir, kernel string) (string, error) {
	f, err := os.Open(kernel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, head); err == nil && string(head) == elf.ELFMAG {
		return kernel, nil
	}
	return Vmlinux(ctx, dir, kernel)
}

func vmlinux(ctx context.Context, dir, kernel string) (string, error) {
	image, err := os.ReadFile(kernel)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(image)
	name, err := filepath.Abs(filepath.Join(dir, "vmlinux-"+hex.EncodeToString(sum[:8])))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	text := image
	if !bytes.HasPrefix(image, []byte(elf.ELFMAG)) {
		payload, err := kernelPayload(image)
		if err != nil {
			return "", err
		}
		if text, err = unpackKernel(ctx, payload); err != nil {
			return "", err
		}
	}
	if err := startsByPVH(text); err != nil {
		return "", err
	}
	// Written under another name first: a second platform may want the same file now.
	f, err := os.CreateTemp(dir, "vmlinux-*.tmp")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return name, os.Rename(f.Name(), name)
}

// Offsets in a bzImage (Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header").
const (
	atSetupSects    = 0x1f1 // sectors of set-up code after the first, 0 for 4
	atMagic         = 0x202 // "HdrS"
	atVersion       = 0x206 // of the boot protocol
	atPayloadOffset = 0x248 // from the end of the set-up code
	atPayloadLength = 0x24c
	headerEnd       = 0x250

	sector = 512
	// payloadVersion is the protocol's first with a payload: 2.08.
	payloadVersion = 0x0208
)

// kernelPayload returns the packed kernel within a bzImage.
func kernelPayload(image []byte) ([]byte, error) {
	if len(image) < headerEnd || string(image[atMagic:atMagic+4]) != "HdrS" {
		return nil, fmt.Errorf("neither an ELF file nor a bzImage: begins with %.16q", image)
	}
	if v := binary.LittleEndian.Uint16(image[atVersion:]); v < payloadVersion {
		return nil, fmt.Errorf("boot protocol %d.%02d: the first whose payload can be found is 2.08", v>>8, v&0xff)
	}
	setup := (int64(cmp.Or(image[atSetupSects], 4)) + 1) * sector
	from := setup + int64(binary.LittleEndian.Uint32(image[atPayloadOffset:]))
	to := from + int64(binary.LittleEndian.Uint32(image[atPayloadLength:]))
	if to > int64(len(image)) || from == to {
		return nil, fmt.Errorf("payload from byte %d to %d of %d", from, to, len(image))
	}
	return image[from:to], nil
}

// packings are the programs that unpack what the kernel's build packs, but for
// gzip, by the first bytes. Debian's kernels are packed by xz, since 6.12 by zstd.
var packings = []struct{ magic, program, pkg string }{
	{"\xfd7zXZ\x00", "xz", "xz-utils"},
	{"\x28\xb5\x2f\xfd", "zstd", "zstd"},
	{"\x02\x21\x4c\x18", "lz4", "lz4"},
}

// unpackKernel unpacks the payload. The kernel's build writes the unpacked size after it, in
// four bytes, but for gzip, whose own last four bytes say it (scripts/Makefile.lib, size_append).
func unpackKernel(ctx context.Context, payload []byte) ([]byte, error) {
	if bytes.HasPrefix(payload, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(payload))
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		return io.ReadAll(z)
	}
	for _, p := range packings {
		if !bytes.HasPrefix(payload, []byte(p.magic)) {
			continue
		}
		end := len(payload) - 4
		text, err := pipe(ctx, p.program, payload[:end])
		if err != nil {
			return nil, fmt.Errorf("%w%w", err, bench.Hint("apt-get install "+p.pkg))
		}
		if want := binary.LittleEndian.Uint32(payload[end:]); uint32(len(text)) != want {
			return nil, fmt.Errorf("%s unpacked %d bytes, the kernel has %d", p.program, len(text), want)
		}
		return text, nil
	}
	return nil, fmt.Errorf("packed in a way that is not known: begins with % x", payload[:min(6, len(payload))])
}

// pipe unpacks data by a program that takes the options of gzip.
func pipe(ctx context.Context, program string, data []byte) ([]byte, error) {
	path, err := launch.Program(program)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "-d", "-c")
	cmd.Stdin = bytes.NewReader(data)
	return tool.Output(ctx, 3*tool.Deadline, cmd)
}

// notePVH is the type of the note that holds the address to start at
// (XEN_ELFNOTE_PHYS32_ENTRY, include/xen/interface/elfnote.h).
const notePVH = 18

// startsByPVH says whether the file is an ELF kernel for x86-64 with that note.
func startsByPVH(kernel []byte) error {
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return err
	}
	if f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("for %v, not for x86-64", f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(p.Open())
		if err != nil {
			return fmt.Errorf("notes: %w", err)
		}
		if hasNote(notes, "Xen\x00", notePVH) {
			return nil
		}
	}
	return fmt.Errorf("it has no entry point of PVH%w", bench.Hint("take a kernel built with CONFIG_PVH=y"))
}

// hasNote looks for a note in an ELF note segment (elf(5), Notes).
func hasNote(notes []byte, owner string, kind uint32) bool {
	const header = 12
	for len(notes) >= header {
		nameSize := binary.LittleEndian.Uint32(notes)
		size := binary.LittleEndian.Uint32(notes[4:])
		found := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[header:]
		if padded(nameSize)+padded(size) > uint64(len(notes)) {
			return false
		}
		if found == kind && string(notes[:nameSize]) == owner {
			return true
		}
		notes = notes[padded(nameSize)+padded(size):]
	}
	return false
}

// padded is the size of a note's part with its padding.
func padded(size uint32) uint64 { return (uint64(size) + 3) &^ 3 }

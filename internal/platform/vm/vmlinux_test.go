package vm

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// tinyKernel is an ELF file of one note segment.
func tinyKernel(t *testing.T, machine elf.Machine, noteKind uint32) []byte {
	t.Helper()
	note := binary.LittleEndian.AppendUint32(nil, 4)
	note = binary.LittleEndian.AppendUint32(note, 8)
	note = binary.LittleEndian.AppendUint32(note, noteKind)
	note = append(note, "Xen\x00\x00\x00\x00\x01\x00\x00\x00\x00"...)
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var b bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: 120, Filesz: uint64(len(note))}, note} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// bzImage puts a packed kernel where the boot protocol says.
func bzImage(payload []byte) []byte {
	const setup, gap = 3 * sector, 40
	image := make([]byte, setup+gap, setup+gap+len(payload)+8)
	image[atSetupSects] = 2
	copy(image[atMagic:], "HdrS")
	binary.LittleEndian.PutUint16(image[atVersion:], 0x020f)
	binary.LittleEndian.PutUint32(image[atPayloadOffset:], gap)
	binary.LittleEndian.PutUint32(image[atPayloadLength:], uint32(len(payload)))
	return append(append(image, payload...), "trailing"...)
}

func packed(t *testing.T, kernel []byte, argv ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	if argv[0] == "gzip" {
		z := gzip.NewWriter(&out)
		if _, err := z.Write(kernel); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(kernel), &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.AppendUint32(out.Bytes(), uint32(len(kernel)))
}

func TestVmlinux(t *testing.T) {
	kernel := tinyKernel(t, elf.EM_X86_64, notePVH)
	for _, argv := range [][]string{
		{"gzip"}, {"xz", "--check=crc32", "-c"}, {"zstd", "-c"}, {"lz4", "-l", "-c"}, {"none"},
	} {
		t.Run(argv[0], func(t *testing.T) {
			dir := t.TempDir()
			file, image := filepath.Join(dir, "vmlinuz"), kernel
			if argv[0] != "none" {
				image = bzImage(packed(t, kernel, argv...))
			}
			write(t, file, string(image))
			path, err := Vmlinux(t.Context(), dir, file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, kernel) || !filepath.IsAbs(path) {
				t.Errorf("%s: %d bytes, %v", path, len(got), err)
			}
			if again, err := Vmlinux(t.Context(), dir, file); again != path || err != nil {
				t.Errorf("made again: %s, %v", again, err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestVmlinuxRefuses(t *testing.T) {
	good := tinyKernel(t, elf.EM_X86_64, notePVH)
	change := func(at int, b ...byte) []byte {
		image := bzImage(packed(t, good, "gzip"))
		copy(image[at:], b)
		return image
	}
	for want, image := range map[string][]byte{
		"neither an ELF file nor a bzImage": []byte("#!/bin/sh\n"),
		"boot protocol 2.07":                change(atVersion, 0x07, 0x02),
		"payload from byte":                 change(atPayloadLength, 0xff, 0xff, 0xff, 0xff),
		"begins with 42 5a 68":              bzImage([]byte("BZh9....")),
		"not for x86-64":                    tinyKernel(t, elf.EM_AARCH64, notePVH),
		"no entry point of PVH":             tinyKernel(t, elf.EM_X86_64, notePVH-1),
		"gzip":                              change(3*sector+40+2, 0xff),
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "vmlinuz")
		write(t, file, string(image))
		if path, err := Vmlinux(t.Context(), dir, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", want, path, err)
		}
	}
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip(err)
	}
	image := packed(t, good, "zstd", "-c")
	image[len(image)-4]++
	dir := t.TempDir()
	write(t, filepath.Join(dir, "vmlinuz"), string(bzImage(image)))
	if _, err := Vmlinux(t.Context(), dir, filepath.Join(dir, "vmlinuz")); err == nil || !strings.Contains(err.Error(), "the kernel has") {
		t.Errorf("another size than said: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := pipe(t.Context(), "no-such-packer", nil); err == nil {
		t.Error("a program that is not there was run")
	}
}

// The hint must name what unpacks Debian's kernels.
func TestVmlinuxHint(t *testing.T) {
	_, err := unpackKernel(t.Context(), []byte("\x28\xb5\x2f\xfdnonsense"))
	if bench.HintOf(err) != "apt-get install zstd" {
		t.Errorf("%v (hint %q)", err, bench.HintOf(err))
	}
}

func FuzzKernelPayload(f *testing.F) {
	f.Add(bzImage([]byte("payload")))
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, image []byte) {
		payload, err := kernelPayload(image)
		if err == nil && (len(payload) == 0 || !bytes.Contains(image, payload)) {
			t.Errorf("payload of %d bytes", len(payload))
		}
	})
}

func FuzzHasNote(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x00\x00\x00\x00\x12\x00\x00\x00Xen\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x12\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, notes []byte) {
		if hasNote(notes, "Xen\x00", notePVH) && !bytes.Contains(notes, []byte("Xen\x00")) {
			t.Error("a note from nowhere")
		}
	})
}

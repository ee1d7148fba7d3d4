package launch

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// bzImage is the beginning of one, with the version at an offset of the set-up code.
func bzImage(at uint16, version string) []byte {
	image := make([]byte, 0x4000)
	copy(image, "MZ")
	copy(image[atHeaderMagic:], "HdrS")
	binary.LittleEndian.PutUint16(image[atKernelVersion:], at)
	if at > 0 && kernelSector+int(at) < len(image) {
		copy(image[kernelSector+int(at):], version)
	}
	return image
}

func TestKernelRelease(t *testing.T) {
	for name, c := range map[string]struct {
		image []byte
		want  string
		err   string
	}{
		"Debian":        {bzImage(0x3500, "6.1.0-28-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP\x00"), "6.1.0-28-cloud-amd64", ""},
		"of one's own":  {bzImage(0x3500, "6.13.0-rc2+\x00"), "6.13.0-rc2+", ""},
		"no version":    {bzImage(0, ""), "", "names no version"},
		"empty version": {bzImage(0x3500, ""), "", `its version begins with ""`},
		"a path":        {bzImage(0x3500, "../../etc #1\x00"), "", `its version begins with "../../etc"`},
		"too long":      {bzImage(0x3500, "6."+strings.Repeat("1", 100)), "", `its version begins with "6.11111`},
		"beyond":        {bzImage(0xffff, ""), "", "its version is at byte 66047 of 16384"},
		"an ELF file":   {append([]byte("\x7fELF"), make([]byte, 0x1000)...), "", `not a bzImage: begins with "\x7fELF`},
		"empty":         {nil, "", `not a bzImage: begins with ""`},
	} {
		path := filepath.Join(t.TempDir(), "kernel")
		if err := os.WriteFile(path, c.image, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := KernelRelease(path)
		if got != c.want || (err == nil) != (c.err == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), path) || !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "") {
			t.Errorf("%s: %v (hint %q)", name, err, bench.HintOf(err))
		}
	}
	if _, err := KernelRelease("/nonexistent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func FuzzParseRelease(f *testing.F) {
	f.Add(bzImage(0x3500, "6.1.0-28-cloud-amd64 (x) #1"))
	f.Add(bzImage(0xffff, ""))
	f.Add([]byte("HdrS"))
	f.Fuzz(func(t *testing.T, image []byte) {
		release, err := parseRelease(image)
		if err == nil && (release == "" || len(release) > 64 || strings.ContainsAny(release, "/ \x00") || release[0] == '.') {
			t.Errorf("%q", release)
		}
	})
}

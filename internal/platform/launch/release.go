package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"tare/internal/bench"
)

// Where a bzImage says its release (Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header").
const (
	atHeaderMagic   = 0x202 // "HdrS"
	atKernelVersion = 0x20e // less by a sector: where the text is; 0 for none
	kernelSector    = 0x200
	// mostSetup is how much of a kernel is read: its set-up code has 64 sectors at most.
	mostSetup = 64 * kernelSector
)

// releaseWord is a kernel's release; it becomes a part of paths.
var releaseWord = regexp.MustCompile(`^[0-9][A-Za-z0-9.+~_-]{0,63}$`)

// KernelRelease reads the release of the kernel that a file holds as a bzImage: "6.1.0-28-amd64".
func KernelRelease(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the kernel: %w: %w", err, bench.ErrInvalid)
	}
	defer f.Close()
	image, err := io.ReadAll(io.LimitReader(f, mostSetup))
	if err != nil {
		return "", fmt.Errorf("read the kernel: %w", err)
	}
	release, err := parseRelease(image)
	if err != nil {
		return "", fmt.Errorf("kernel %s: %w: %w%w", path, err, bench.ErrInvalid,
			bench.Hint("name a bzImage, such as arch/x86/boot/bzImage of a build or /boot/vmlinuz of a package"))
	}
	return release, nil
}

// parseRelease reads the release from the beginning of a bzImage.
func parseRelease(image []byte) (string, error) {
	if len(image) < atKernelVersion+2 || string(image[atHeaderMagic:atHeaderMagic+4]) != "HdrS" {
		return "", fmt.Errorf("not a bzImage: begins with %.16q", image)
	}
	at := int(binary.LittleEndian.Uint16(image[atKernelVersion:]))
	if at == 0 {
		return "", errors.New("its header names no version")
	}
	if at += kernelSector; at >= len(image) {
		return "", fmt.Errorf("its version is at byte %d of %d that were read", at, len(image))
	}
	release := string(image[at:])
	if end := strings.IndexAny(release, " \x00"); end >= 0 {
		release = release[:end]
	}
	if !releaseWord.MatchString(release) {
		return "", fmt.Errorf("its version begins with %.20q", release)
	}
	return release, nil
}

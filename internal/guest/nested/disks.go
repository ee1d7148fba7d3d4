package nested

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/guest/nested/wire"
)

// A guest that is the outer one of a nesting in its turn gives on the disks it
// was given.

// Tools is the device of the disk with Tare.
func Tools() (string, error) { return labelled(wire.ToolsLabel) }

// Versions are those of the programs in the images of outer guests, as the host wrote them down.
func Versions() (map[string]string, error) {
	text, err := os.ReadFile(wire.Versions)
	if err != nil {
		return nil, fmt.Errorf("versions of the outer guests' programs: %w", err)
	}
	var v map[string]string
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("versions of the outer guests' programs: %w", err)
	}
	return v, nil
}

// Hosts is the image that outer guests inside this one boot from, as this one has it.
type Hosts struct{}

// Disk is the block device that the image lies on.
func (Hosts) Disk(context.Context) (string, error) { return labelled(wire.HostsLabel) }

// Digest implements [bench.Image]; the host knows it.
func (Hosts) Digest() string { return "" }

func (Hosts) Root(context.Context) (string, error) { return "", errDiskOnly }
func (Hosts) Tar(context.Context) (string, error)  { return "", errDiskOnly }
func (Hosts) Kernel(context.Context) (kernel, modules string, err error) {
	return "", "", errDiskOnly
}

// Close has nothing to let go of.
func (Hosts) Close() error { return nil }

var errDiskOnly = fmt.Errorf("the image of outer guests is here as a disk alone: %w", bench.ErrUnavailable)

// labelled finds the read-only block device whose ext4 file system has the label.
// One that may be written is this guest's own root, of the same image.
func labelled(label string) (string, error) {
	flags, err := filepath.Glob("/sys/block/*/ro")
	if err != nil {
		return "", err
	}
	for _, flag := range flags {
		if text, err := os.ReadFile(flag); err != nil || strings.TrimSpace(string(text)) != "1" {
			continue
		}
		device := "/dev/" + filepath.Base(filepath.Dir(flag))
		if found, err := labelOf(device); err == nil && found == label {
			return device, nil
		}
	}
	return "", fmt.Errorf("no read-only disk is labelled %s: %w", label, bench.ErrUnavailable)
}

// Where ext4 keeps its label (Documentation/filesystems/ext4/super.rst of Linux).
const (
	superblock = 1024
	atMagic    = superblock + 0x38
	atLabel    = superblock + 0x78
	labelSize  = 16
)

// labelOf reads the label of the ext4 file system in the file or device.
func labelOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, atLabel+labelSize)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if head[atMagic] != 0x53 || head[atMagic+1] != 0xef {
		return "", errors.New(path + " holds no ext4")
	}
	label, _, _ := bytes.Cut(head[atLabel:], []byte{0})
	return string(label), nil
}

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Format is one form of the root file system, made on first use from the same
// tree as the others.
type Format struct {
	File   string      `json:"file"`
	Size   bench.Bytes `json:"size"`
	OnDisk bench.Bytes `json:"on_disk"` // less than Size where the file is sparse
	SHA256 string      `json:"sha256"`
	MTime  int64       `json:"mtime_ns"`
}

const (
	tarFormat  = "root.tar"
	diskFormat = "root.ext4"
)

// Tar returns the root file system as an uncompressed tar archive.
func (i *Image) Tar(ctx context.Context) (string, error) {
	return i.format(ctx, tarFormat, i.writeTar)
}

// Disk returns the root file system as a raw ext4 image, to be treated as read-only.
func (i *Image) Disk(ctx context.Context) (string, error) {
	return i.format(ctx, diskFormat, i.writeDisk)
}

// format returns the path of a form, made by write unless it is there already.
func (i *Image) format(ctx context.Context, name string, write func(ctx context.Context, path string) error) (string, error) {
	path := filepath.Join(i.dir, "forms", name)
	if i.formatReady(name) {
		return path, nil
	}
	unlock, err := i.store.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if i.formatReady(name) {
		return path, nil // made by another while we waited
	}
	i.store.say("making %s", name)
	work, finish, err := i.store.workDir()
	if err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	made := filepath.Join(work, name)
	if err = write(ctx, made); err == nil {
		err = i.adopt(made, path)
	}
	if err = errors.Join(err, finish()); err != nil {
		return "", fmt.Errorf("make %s: %w", name, diskFull(err, i.dir))
	}
	return path, nil
}

// adopt moves a finished form into its place and then records it; without its
// record it does not count.
func (i *Image) adopt(made, path string) error {
	sum, err := hashFile(made, make([]byte, 256<<10))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := syncFile(made); err != nil {
		return err
	}
	if err := os.Rename(made, path); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	data, err := json.Marshal(Format{File: filepath.Base(path), Size: bench.Bytes(st.Size),
		OnDisk: bench.Bytes(st.Blocks * 512), SHA256: sum, MTime: st.Mtim.Nano()})
	if err != nil {
		return err
	}
	return writeFile(path+".json", append(data, '\n'))
}

// formatReady reports whether the form is there as it was recorded.
func (i *Image) formatReady(name string) bool {
	f, ok := i.formats()[name]
	if !ok {
		return false
	}
	st, err := os.Lstat(filepath.Join(i.dir, "forms", name))
	return err == nil && st.Size() == int64(f.Size) && st.ModTime().UnixNano() == f.MTime
}

// formats are the recorded forms. A record that cannot be read is of none.
func (i *Image) formats() map[string]Format {
	forms := map[string]Format{}
	for _, name := range []string{tarFormat, diskFormat} {
		data, err := os.ReadFile(filepath.Join(i.dir, "forms", name+".json"))
		if err != nil {
			continue
		}
		var f Format
		if json.Unmarshal(data, &f) == nil && f.File == name {
			forms[name] = f
		}
	}
	return forms
}

func (i *Image) verifyFormats() error {
	buf := make([]byte, 1<<20)
	for name, f := range i.formats() {
		sum, err := hashFile(filepath.Join(i.dir, "forms", name), buf)
		if err != nil {
			return fmt.Errorf("verify image: %w%w", err, rebuild)
		}
		if sum != f.SHA256 {
			return fmt.Errorf("verify image %s: %s differs from what was made%w", i.manifest.Digest, name, rebuild)
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

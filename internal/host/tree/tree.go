// Package tree deletes directory trees of ours, but no file systems mounted in them. It is the only
// place where Tare deletes trees on the host.
package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

// Remove deletes a directory tree, unless something is mounted in it. Deleting through a mount
// would delete the mounted files, such as the host's own /dev/shm that a build binds into its tree.
// A symbolic link itself is deleted. Remove returns nil if the tree does not exist or dir is empty.
func Remove(dir string) error {
	if dir == "" {
		return nil
	}
	parent, err := os.Open(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	return RemoveAt(parent, filepath.Base(dir))
}

// RemoveAt is [Remove] of a name in an open directory, which may be open with O_PATH. It follows no
// link out of that directory.
func RemoveAt(parent *os.File, name string) error {
	within := fmt.Sprintf("/proc/self/fd/%d", parent.Fd())
	above, err := os.Readlink(within)
	if err != nil {
		return err
	}
	if err := Unmounted(filepath.Join(above, name)); err != nil {
		return err
	}
	root, err := os.OpenRoot(within)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(name)
}

// Unmounted returns an error that lists the mounts at the path or below, if there are any. It does
// not follow the path if it is a symbolic link.
func Unmounted(path string) error {
	above, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		above, err = filepath.Abs(above)
	}
	var mounts []string
	if err == nil {
		mounts, err = Mounts(filepath.Join(above, filepath.Base(path)))
	}
	if err == nil && len(mounts) > 0 {
		err = fmt.Errorf("mounted inside: %s%w", strings.Join(mounts, ", "), bench.Hint("umount "+mounts[0]))
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// Mounts returns the mount points at and below the path. The path must not contain symbolic links.
func Mounts(path string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return nil, fmt.Errorf("/proc/self/mountinfo: %q is not a mount", line)
		}
		at := escapes.Replace(fields[4])
		if at == path || strings.HasPrefix(at, path+"/") {
			found = append(found, at)
		}
	}
	return found, nil
}

// escapes decodes mountinfo's escapes: proc_pid_mountinfo(5).
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

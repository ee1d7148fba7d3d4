// Package tree deletes directory trees of ours, and nothing of others that is
// mounted in them. It is the only place where Tare deletes trees on the host.
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

// Remove deletes a directory tree, unless something is mounted in it: to delete
// through a mount is to delete what is mounted, such as the host's own /dev/shm
// that a build binds into its tree. A symbolic link is deleted itself. What is
// gone already, or has no name yet, is no error.
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

// RemoveAt is [Remove] of a name in an open directory, which may be open as a
// mere path (O_PATH). No link leads out of that directory.
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

// Unmounted is an error that names what is mounted at the path or below, if
// anything is. If the path is itself a symbolic link, that is not followed.
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

// Mounts lists the mount points at the path, which has no symbolic link in it, and below it.
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

// escapes undoes mountinfo's: proc_pid_mountinfo(5).
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

package image

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

// RemoveTree deletes a directory tree, unless something is mounted in it: to
// delete through a mount is to delete what is mounted, such as the host's own
// /dev/shm that a build binds into its tree.
func RemoveTree(dir string) error {
	if err := unmounted(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// unmounted is an error that names what is mounted in a directory tree.
func unmounted(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return fmt.Errorf("remove %s: mountinfo: line %q does not have its fields", dir, line)
		}
		at := mountEscapes.Replace(fields[4])
		if at == real || strings.HasPrefix(at, real+"/") {
			return fmt.Errorf("remove %s: %s is mounted%w", dir, at, bench.Hint("umount "+at))
		}
	}
	return nil
}

// mountEscapes undoes those of mountinfo (proc_pid_mountinfo(5)).
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

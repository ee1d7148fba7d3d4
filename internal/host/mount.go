package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// mount is a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	device string // "254:0"
	at     string
	fstype string
	source string
	super  string // options of the file system, comma separated
}

func parseMounts(text string) ([]mount, error) {
	var mounts []mount
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 2 {
			return nil, fmt.Errorf("mountinfo: line %q does not have its fields", line)
		}
		m := mount{device: l[2], at: unescape(l[4]), fstype: r[0], source: unescape(r[1])}
		if len(r) > 2 {
			m.super = r[2]
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// unescape decodes the octal escapes in a path: "\040" is a space.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountOf returns the mount that path is on. It is the deepest one. Of several at one place it is
// the last, which hides the others.
func mountOf(mounts []mount, path string) (mount, bool) {
	var best mount
	found := false
	for _, m := range mounts {
		if path != m.at && !strings.HasPrefix(path, strings.TrimSuffix(m.at, "/")+"/") {
			continue
		}
		if !found || len(m.at) >= len(best.at) {
			best, found = m, true
		}
	}
	return best, found
}

// readFilesystem describes the file system of the state directory, which need not exist.
func readFilesystem(t tree, f *Facts, stateDir string) error {
	f.Filesystem = unknown
	path, err := filepath.Abs(stateDir)
	if err != nil {
		return fmt.Errorf("file system: %w", err)
	}
	var st unix.Statfs_t
	for {
		if err = unix.Statfs(t.path(path), &st); !errors.Is(err, fs.ErrNotExist) || path == "/" {
			break
		}
		path = filepath.Dir(path)
	}
	if err != nil {
		return fmt.Errorf("file system: statfs %s: %w", path, err)
	}
	f.DiskFree = bench.Bytes(st.Bavail) * bench.Bytes(st.Bsize)
	if t == "/" {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	text, _ := t.text("/proc/self/mountinfo")
	mounts, err := parseMounts(text)
	if err != nil {
		return fmt.Errorf("file system: %w", err)
	}
	m, ok := mountOf(mounts, path)
	if !ok {
		return fmt.Errorf("file system: no mount holds %s", path)
	}
	f.Filesystem = m.fstype + " on " + m.source
	f.Disk = disk(t, m.device)
	return nil
}

// disk returns the kind and the I/O scheduler of a block device, "" if it is none.
func disk(t tree, device string) string {
	dir := t.path("/sys/dev/block/" + device)
	if real, err := os.Readlink(dir); err == nil { // a partition's disk is the parent directory
		dir = filepath.Join(filepath.Dir(dir), real)
	}
	if _, err := os.Stat(filepath.Join(dir, "queue")); err != nil {
		dir = filepath.Dir(dir)
	}
	rotational, err := os.ReadFile(filepath.Join(dir, "queue/rotational"))
	if err != nil {
		return ""
	}
	kind := "not rotational"
	if strings.TrimSpace(string(rotational)) == "1" {
		kind = "rotational, or says so"
	}
	scheduler, err := os.ReadFile(filepath.Join(dir, "queue/scheduler"))
	if err != nil {
		return kind
	}
	name, err := chosen(string(scheduler))
	if err != nil {
		name = strings.TrimSpace(string(scheduler))
	}
	return kind + ", I/O scheduler " + name
}

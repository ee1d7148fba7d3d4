package cgroup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mounts reads the cgroup mounts from the text of a mountinfo file (proc_pid_mountinfo(5)). If a
// hierarchy is mounted twice, it uses the first mount.
func (fs *FS) mounts(text string) error {
	for n, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 1 {
			return fmt.Errorf("line %d: %q is not a mount", n+1, line)
		}
		if right[0] != "cgroup" && right[0] != "cgroup2" {
			continue
		}
		if len(right) < 3 {
			return fmt.Errorf("line %d: %q has no super options", n+1, line)
		}
		h := hierarchy{dir: filepath.Join(fs.root, unescape(left[4])), base: unescape(left[3])}
		if right[0] == "cgroup2" {
			if fs.unified.dir == "" {
				fs.unified = h
			}
			continue
		}
		ours := false
		for _, c := range strings.Split(right[2], ",") {
			if !slices.Contains(controllers, c) {
				continue
			}
			ours = true
			if _, have := fs.v1[c]; !have {
				fs.v1[c] = h
			}
		}
		if !ours {
			fs.others = append(fs.others, h)
		}
	}
	return nil
}

// membership reads the text of a /proc/PID/cgroup file (cgroups(7)): "5:cpu,cpuacct:/a/b" for v1,
// "0::/a/b" for v2. A cgroup that is deleted or outside the mounted part has no directory and is
// left out.
func (fs *FS) membership(text string) (map[string]string, error) {
	dirs := map[string]string{}
	for n, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		part := strings.SplitN(line, ":", 3)
		if len(part) != 3 || !strings.HasPrefix(part[2], "/") {
			return nil, fmt.Errorf("line %d: %q is not ID:CONTROLLERS:PATH", n+1, line)
		}
		if _, err := strconv.Atoi(part[0]); err != nil {
			return nil, fmt.Errorf("line %d: %q: bad hierarchy id %q", n+1, line, part[0])
		}
		if part[0] == "0" && part[1] == "" {
			if d, ok := fs.unified.locate(part[2]); ok {
				dirs[Unified] = d
			}
			continue
		}
		for _, c := range strings.Split(part[1], ",") {
			h, mounted := fs.v1[c]
			if !mounted {
				continue
			}
			if d, ok := h.locate(part[2]); ok {
				dirs[c] = d
			}
		}
	}
	return dirs, nil
}

// locate returns the directory of a cgroup given by its path in the hierarchy.
func (h hierarchy) locate(path string) (string, bool) {
	if h.dir == "" || strings.HasSuffix(path, " (deleted)") {
		return "", false
	}
	rel, err := filepath.Rel(h.base, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.Join(h.dir, rel), true
}

// unescape decodes mountinfo's octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

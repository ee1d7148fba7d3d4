// Package survey lists a host's state as lines, so that callers can compare it before and after.
// Mounts, processes, network and directory trees are those of the calling process's namespaces. A
// caller that wants only its own calls from new namespaces. Control groups, loop devices, swap,
// modules and settings are the whole machine's. A fact is a line that begins with its kind. If a
// program or file is missing, its facts are absent. The caller must drop changes made by others
// meanwhile.
package survey

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Host is where to look. The zero value is this machine.
type Host struct {
	// Root is the directory that the files of the machine lie below; empty for /.
	Root string
	// Output runs a program and returns what it prints; nil to run it here.
	Output func(argv ...string) ([]byte, error)
}

// Changes returns what is new in after, and what is gone from before.
func Changes(before, after []string) (left, gone []string) {
	return without(after, before), without(before, after)
}

// without returns what of a is not in b.
func without(a, b []string) []string {
	known := make(map[string]bool, len(b))
	for _, s := range b {
		known[s] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return known[s] })
}

// facts are being listed.
type facts []string

func (f *facts) add(kind, format string, args ...any) {
	*f = append(*f, kind+" "+fmt.Sprintf(format, args...))
}

// path returns where a file of the machine is found.
func (h Host) path(name string) string { return filepath.Join("/", h.Root, name) }

// name returns what a file that was found is called on the machine.
func (h Host) name(path string) string {
	return filepath.Join("/", strings.TrimPrefix(path, h.path("/")))
}

// text reads a file, and trims it.
func (h Host) text(name string) (text string, ok bool) {
	all, err := os.ReadFile(h.path(name))
	return string(bytes.TrimSpace(all)), err == nil
}

// lines yields those of a file, without their ends.
func (h Host) lines(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		text, _ := os.ReadFile(h.path(name))
		for line := range strings.Lines(string(text)) {
			if !yield(strings.TrimRight(line, "\n")) {
				return
			}
		}
	}
}

// glob returns the names that match.
func (h Host) glob(pattern string) []string {
	names, _ := filepath.Glob(h.path(pattern))
	for i, path := range names {
		names[i] = h.name(path)
	}
	return names
}

// walk visits a tree to a depth; 0 is its root alone.
func (h Host) walk(root string, deep int, visit func(name string, info fs.FileInfo)) {
	top := h.path(root)
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it vanished meanwhile, or was never there
		}
		if info, err := d.Info(); err == nil {
			visit(h.name(path), info)
		}
		if d.IsDir() && strings.Count(strings.TrimPrefix(path, top), "/") >= deep {
			return fs.SkipDir
		}
		return nil
	})
}

// printed yields the lines that a command prints, trimmed.
func (h Host) printed(command string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		output := h.Output
		if output == nil {
			output = func(argv ...string) ([]byte, error) { return exec.Command(argv[0], argv[1:]...).Output() }
		}
		out, err := output(strings.Fields(command)...)
		if err != nil {
			return // it is not installed
		}
		for line := range strings.Lines(string(out)) {
			if !yield(strings.TrimSpace(line)) {
				return
			}
		}
	}
}

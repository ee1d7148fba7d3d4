package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/host/cgroup"
)

// tree is a host's file system, at "/" or, in tests, elsewhere.
type tree string

func (t tree) path(name string) string { return filepath.Join(string(t), name) }

// text returns a file without surrounding space, and whether it could be read.
func (t tree) text(name string) (string, bool) {
	b, err := os.ReadFile(t.path(name))
	return strings.TrimSpace(string(b)), err == nil
}

// word returns a file's text, or other if it cannot be read or is empty.
func (t tree) word(name, other string) string {
	if s, ok := t.text(name); ok && s != "" {
		return s
	}
	return other
}

// number reads a file that holds one whole number.
func (t tree) number(name string) (int, error) {
	b, err := os.ReadFile(t.path(name))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a number", name, b)
	}
	return n, nil
}

// cpus reads a file that holds a list of CPUs, such as "0-3,8".
func (t tree) cpus(name string) ([]int, error) {
	b, err := os.ReadFile(t.path(name))
	if err != nil {
		return nil, err
	}
	list, err := cgroup.ParseCPUList(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// fields reads a file of lines "name: value"; the first of each name counts.
func (t tree) fields(name, separator string) map[string]string {
	text, _ := t.text(name)
	return fields(text, separator)
}

func fields(text, separator string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, separator)
		if key = strings.TrimSpace(key); ok && key != "" {
			if _, seen := m[key]; !seen {
				m[key] = strings.TrimSpace(value)
			}
		}
	}
	return m
}

// names lists a directory. A missing directory is empty.
func (t tree) names(dir string) []string {
	entries, err := os.ReadDir(t.path(dir))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// chosen returns the word in brackets of "always [madvise] never".
func chosen(text string) (string, error) {
	_, rest, ok := strings.Cut(text, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !ok || !closed || word == "" {
		return "", fmt.Errorf("no word in brackets in %q", text)
	}
	return word, nil
}

// unquote removes the quotes from a value of os-release.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

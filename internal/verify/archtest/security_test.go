package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	named   = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	defined = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestSecurityPage looks in the source for each test that docs/SECURITY.md and
// docs/NUMBERS.md name, for a test in each promise, and for the page on the README.
func TestSecurityPage(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range defined.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs/SECURITY.md", "docs/NUMBERS.md"} {
		page, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		names := named.FindAllSubmatch(page, -1)
		for _, m := range names {
			if test := string(m[1]); !tests[test] {
				t.Errorf("%s names %s, which is not a test", name, test)
			}
		}
		if len(names) == 0 {
			t.Errorf("%s names no test", name)
		}
		for _, item := range promises(string(page)) {
			if !named.MatchString(item) {
				t.Errorf("%s promises without a test: %s", name, item)
			}
		}
		if len(promises(string(page))) == 0 {
			t.Errorf("%s promises nothing", name)
		}
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil || !strings.Contains(string(readme), "docs/SECURITY.md") {
		t.Errorf("README.md does not name docs/SECURITY.md: %v", err)
	}
}

// promises are the list items of a page's sections on what is promised and on
// what goes wrong, each on one line.
func promises(page string) []string {
	var items []string
	inSection, inItem := false, false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "## "):
			inSection = strings.HasPrefix(line, "## What is promised") || strings.HasPrefix(line, "## What else goes wrong")
			inItem = false
		case inSection && strings.HasPrefix(line, "- "):
			items = append(items, strings.TrimSpace(line))
			inItem = true
		case inItem && strings.HasPrefix(line, "  "):
			items[len(items)-1] += " " + strings.TrimSpace(line)
		default:
			inItem = false
		}
	}
	return items
}

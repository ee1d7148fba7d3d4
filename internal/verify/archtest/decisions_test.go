package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	listed = regexp.MustCompile(`(?m)^(\d+)\. \[(.+)\]\(decisions/(.+)\)$`)
	inTree = regexp.MustCompile("`((?:internal|cmd|docs|scripts)/[A-Za-z0-9_./-]+)`")
)

// TestDecisions holds the list of decisions to their folder, each record to its
// parts, and the paths in it to the source.
func TestDecisions(t *testing.T) {
	page, err := os.ReadFile("../../../" + mapPage)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, m := range listed.FindAllStringSubmatch(string(page), -1) {
		number, title, name := m[1], m[2], m[3]
		list = append(list, name)
		text, err := os.ReadFile("../../../docs/decisions/" + name)
		if err != nil {
			t.Errorf("%s lists a decision that is not there: %v", mapPage, err)
			continue
		}
		if number != fmt.Sprint(i+1) || !strings.HasPrefix(name, fmt.Sprintf("%03d-", i+1)) {
			t.Errorf("%s lists %s as number %s, in place %d", mapPage, name, number, i+1)
		}
		if want := fmt.Sprintf("# %s. %s\n", number, title); !strings.HasPrefix(string(text), want) {
			t.Errorf("docs/decisions/%s does not begin with %q", name, want)
		}
		var parts []string
		for line := range strings.Lines(string(text)) {
			if part, ok := strings.CutPrefix(line, "## "); ok {
				parts = append(parts, strings.TrimSpace(part))
			}
		}
		if !slices.Equal(parts, []string{"Context", "Decision", "Consequences", "What would change it"}) {
			t.Errorf("docs/decisions/%s has the parts %q", name, parts)
		}
		for _, m := range inTree.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat("../../../" + m[1]); err != nil {
				t.Errorf("docs/decisions/%s names %s, which is not there", name, m[1])
			}
		}
	}
	files, err := filepath.Glob("../../../docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !slices.Contains(list, name) {
			t.Errorf("%s does not list docs/decisions/%s", mapPage, name)
		}
	}
	if len(list) == 0 {
		t.Errorf("%s lists no decision", mapPage)
	}
}

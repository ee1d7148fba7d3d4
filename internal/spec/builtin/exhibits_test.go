package builtin_test

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/builtin"
)

// exhibits lists all figures, tables and numbers of the five papers, one per line: "paper id".
//
//go:embed testdata/exhibits.txt
var exhibits string

// coveredBy returns, for each exhibit, the built-in experiments that claim to measure it. It fails
// unless the list for users and the parsed specifications agree.
func coveredBy(t *testing.T) map[string][]string {
	by := map[string][]string{}
	for _, info := range builtin.List() {
		text, err := builtin.Find(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := spec.Parse(info.Name, text, nil, words())
		if err != nil || !slices.Equal(e.Covers, info.Covers) {
			t.Errorf("%s: %v in the list, %v in the specification, %v", info.Name, info.Covers, e.Covers, err)
		}
		for _, c := range info.Covers {
			if slices.Contains(by[c], info.Name) {
				t.Errorf("%s covers %s twice", info.Name, c)
			}
			by[c] = append(by[c], info.Name)
		}
	}
	return by
}

// TestExhibits holds what experiments say they cover to the papers, and the
// lists of docs/methodology/exhibits.md to both: each exhibit is in them, with the
// experiments that cover it, or with none and the reason.
func TestExhibits(t *testing.T) {
	all := strings.Split(strings.TrimSpace(exhibits), "\n")
	by := coveredBy(t)
	for c, names := range by {
		if !slices.Contains(all, c) {
			t.Errorf("%v cover %q, which no paper has", names, c)
		}
	}
	said := exhibitLists(t)
	for _, x := range all {
		want, got := slices.Sorted(slices.Values(by[x])), slices.Sorted(slices.Values(said[x]))
		switch _, listed := said[x]; {
		case !listed:
			t.Errorf("%s is not in the lists", x)
		case !slices.Equal(want, got):
			t.Errorf("%s: the lists say %q, the experiments %q", x, got, want)
		}
		delete(said, x)
	}
	for x := range said {
		t.Errorf("the lists have %q, which no paper has", x)
	}
}

var exhibitItem = regexp.MustCompile(`^- \*\*(.+)\*\* \((.+)\): (.*)`)

// exhibitLists are the experiments that the document names for each exhibit, none
// where it says none; an exhibit may be in several items.
func exhibitLists(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../../../docs/methodology/exhibits.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]string{}
	_, papers, _ := strings.Cut(string(text), "\n## ")
	for section := range strings.SplitSeq(papers, "\n## ") {
		paper, items, _ := strings.Cut(section, "\n")
		for item := range strings.SplitSeq(items, "\n- ") {
			if !strings.HasPrefix(item, "**") {
				continue
			}
			m := exhibitItem.FindStringSubmatch("- " + strings.Join(strings.Fields(item), " "))
			if m == nil || m[3] == "" {
				t.Errorf("not an exhibit, experiments and what differs: %s", item)
				continue
			}
			for id := range strings.SplitSeq(m[1], ", ") {
				x := paper + " " + id
				said[x] = append(said[x], []string{}...)
				if m[2] != "none" {
					said[x] = append(said[x], strings.Split(m[2], ", ")...)
				}
			}
		}
	}
	return said
}

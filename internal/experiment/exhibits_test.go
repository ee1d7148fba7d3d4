package experiment_test

import (
	_ "embed"
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/spec"
)

// exhibits are all figures, tables and numbers of the five papers, one a line: "paper id".
//
//go:embed testdata/exhibits.txt
var exhibits string

// coveredBy is, by exhibit, the built-in experiments that say they measure it.
// The list for people and the reader of specifications must agree on it.
func coveredBy(t *testing.T) map[string][]string {
	by := map[string][]string{}
	for _, info := range experiment.List() {
		text, err := experiment.Find(info.Name)
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
// tables of docs/methodology/exhibits.md to both: each exhibit is in them, with the
// experiments that cover it, or with none and the reason.
func TestExhibits(t *testing.T) {
	all := strings.Split(strings.TrimSpace(exhibits), "\n")
	by := coveredBy(t)
	for c, names := range by {
		if !slices.Contains(all, c) {
			t.Errorf("%v cover %q, which no paper has", names, c)
		}
	}
	said := exhibitTables(t)
	for _, x := range all {
		want, got := slices.Sorted(slices.Values(by[x])), slices.Sorted(slices.Values(said[x]))
		switch _, listed := said[x]; {
		case !listed:
			t.Errorf("%s is not in the tables", x)
		case !slices.Equal(want, got):
			t.Errorf("%s: the tables say %q, the experiments %q", x, got, want)
		}
		delete(said, x)
	}
	for x := range said {
		t.Errorf("the tables have %q, which no paper has", x)
	}
}

// exhibitTables are the experiments that the document names for each exhibit;
// an exhibit may be in several rows.
func exhibitTables(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../../docs/methodology/exhibits.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]string{}
	paper := ""
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			paper = strings.TrimSpace(heading)
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "| exhibit ") {
			continue
		}
		if len(cells) != 3 || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("not an exhibit, experiments and what differs: %s", line)
			continue
		}
		for _, id := range strings.Split(cells[0], ",") {
			x := paper + " " + strings.TrimSpace(id)
			said[x] = append(said[x], []string{}...)
			if names := strings.TrimSpace(cells[1]); names != "–" {
				said[x] = append(said[x], strings.Split(names, ", ")...)
			}
		}
	}
	return said
}

package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossary holds docs/GLOSSARY.md to its order and to the source: each word
// has one sentence and a standard term, and occurs in Go code outside tests.
func TestGlossary(t *testing.T) {
	const name = "docs/GLOSSARY.md"
	page, err := os.ReadFile("../../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	source := sourceText(t)
	before, words := "", 0
	for i, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| **") {
			continue
		}
		words++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("%s:%d: a row has a word, a sentence and a standard term", name, i+1)
			continue
		}
		word, sentence := strings.Trim(cells[0], " *"), strings.TrimSpace(cells[1])
		if word <= before {
			t.Errorf("%s:%d: %q stands below %q: the words are sorted", name, i+1, word, before)
		}
		before = word
		if strings.Contains(sentence, ". ") || !strings.HasSuffix(sentence, ".") {
			t.Errorf("%s:%d: %q has no one sentence that ends in a full stop", name, i+1, word)
		}
		if !regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `s?\b`).MatchString(source) {
			t.Errorf("%s:%d: no source says %q: remove the row, or use the word", name, i+1, word)
		}
	}
	if words == 0 {
		t.Errorf("%s has no word", name)
	}
}

// sourceText is all Go code outside tests, one file after the other.
func sourceText(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, top := range []string{"../..", "../../../cmd"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := os.ReadFile(path)
			text.Write(file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tare/internal/app/planning"
	"tare/internal/spec"
	"tare/internal/spec/builtin"
)

// pages are the README, the changelog and everything below docs, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	read := func(path string) error {
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		return read(path)
	})
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		if err == nil {
			err = read("../../" + name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	code     = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	bracket  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	indented = regexp.MustCompile(`^(    |\t)`)
)

// TestLinksOfPages follows each relative link of a page to a file that is there,
// and each anchor to a heading of that file.
func TestLinksOfPages(t *testing.T) {
	texts := pages(t)
	links := 0
	for path, text := range texts {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", path, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(texts[target]), anchor) {
				t.Errorf("%s: %s: no heading has that anchor", path, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// anchors are the names by which GitHub links to the headings of a page.
func anchors(text string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := strings.ToLower(bracket.ReplaceAllString(m[1], "$1"))
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return r
			}
			return -1
		}, title))
	}
	return names
}

// TestCommandsOfPages parses each command line of a page as tare would, and the
// experiment that it changes. Nothing is run.
func TestCommandsOfPages(t *testing.T) {
	commands := 0
	for path, text := range pages(t) {
		if strings.HasSuffix(path, "CHANGELOG.md") {
			continue // of versions that are gone
		}
		for _, line := range commandLines(text) {
			commands++
			if err := parses(line); err != nil {
				t.Errorf("%s: %s: %v", path, line, err)
			}
		}
	}
	if commands < 50 {
		t.Errorf("only %d command lines were found", commands)
	}
}

// A shell takes name[option=value] for a pattern of file names, and some refuse one that matches
// none.
func TestCommandsOfPagesQuoteOptions(t *testing.T) {
	quoted, options := regexp.MustCompile(`'[^']*'|"[^"]*"`), regexp.MustCompile(`[a-z]\[[a-z]+=`)
	found := 0
	for path, text := range pages(t) {
		lines := commandLines(text)
		for _, span := range code.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
			if words := strings.Trim(span, "`"); strings.HasPrefix(words, "tare ") || strings.HasPrefix(words, "--") {
				lines = append(lines, words)
			}
		}
		for _, line := range lines {
			found += len(options.FindAllString(line, -1))
			if options.MatchString(quoted.ReplaceAllString(line, "")) {
				t.Errorf("%s: %s: an option in brackets is not quoted", path, line)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d options were found", found)
	}
}

// commandLines are the lines of fenced and indented blocks that begin with "tare ".
func commandLines(text string) []string {
	var found []string
	inFence := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if strings.HasPrefix(line, "```") {
			inFence = !inFence
		}
		if words := strings.TrimSpace(line); (inFence || indented.MatchString(line)) && strings.HasPrefix(words, "tare ") {
			found = append(found, words)
		}
	}
	return found
}

// parses is an error if tare would refuse the command line before it does anything.
func parses(line string) error {
	a := newApp(io.Discard, io.Discard)
	c, rest, err := a.command().Find(shellWords(line)[1:])
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	args := c.Flags().Args()
	if c.Name() == "reproduce" {
		var r reproducing
		r.format = "text"
		return r.take(args)
	}
	if err := c.ValidateArgs(args); err != nil || c.Flags().Lookup("platforms") == nil || c.Flags().Lookup("set") == nil || len(args) == 0 || filepath.Ext(args[0]) != "" {
		return err
	}
	var r planning.Request
	if r.Set, err = c.Flags().GetStringArray("set"); err != nil {
		return err
	}
	if r.Platforms, err = c.Flags().GetStringSlice("platforms"); err != nil {
		return err
	}
	r.Platforms = planning.JoinOptions(r.Platforms)
	experimentText, err := builtin.Find(args[0])
	if err != nil {
		return err
	}
	_, err = spec.Parse(args[0], experimentText, r.Overrides(), a.catalog().Words())
	return err
}

// shellWords are the words of the first command of a line, without quotes.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	end := func() {
		if in {
			words = append(words, word.String())
		}
		word.Reset()
		in = false
	}
	for _, r := range line {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote, in = r, true
		case r == quote:
			quote = 0
		case quote == 0 && unicode.IsSpace(r):
			end()
		case quote == 0 && (r == '|' || r == '>' || r == ';' || r == '#' && !in):
			end()
			return words
		default:
			word.WriteRune(r)
			in = true
		}
	}
	end()
	return words
}

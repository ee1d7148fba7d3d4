// Package experiment holds the built-in experiments: specifications that are
// embedded, and double as examples of the format (docs/SPEC.md).
package experiment

import (
	"embed"
	"fmt"
	"strings"

	"tare/internal/bench"
)

//go:embed builtin/*.yaml
var files embed.FS

// names in the order in which people are shown them.
var names = []string{"quick", "platforms", "overhead", "storage", "network", "alike", "neighbour", "isolation", "known-neighbour", "pairs", "sharing", "pinning", "scheduling", "shares-vs-sets",
	"soft-vs-hard", "overcommit", "startup", "footprint", "migration", "images", "density", "energy", "frequency", "command-example"}

// Info describes a built-in experiment.
type Info struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Doc   string `json:"doc"` // the comment at the head of its file
	// Covers are the published figures and tables it measures anew.
	Covers []string `json:"covers,omitempty"`
}

// List returns every built-in experiment.
func List() []Info {
	var all []Info
	for _, name := range names {
		text, err := files.ReadFile(path(name))
		if err != nil {
			panic(fmt.Sprintf("experiment: %v", err)) // embedded at build time
		}
		all = append(all, describe(name, string(text)))
	}
	return all
}

// Find returns the YAML text of a built-in experiment. The error wraps
// bench.ErrInvalid and hints at those there are.
func Find(name string) ([]byte, error) {
	for _, n := range names {
		if n == name {
			return files.ReadFile(path(name))
		}
	}
	return nil, fmt.Errorf("experiment %q: unknown: %w%w", name, bench.ErrInvalid,
		bench.Hint("one of: "+strings.Join(names, ", ")+"; or the path of a YAML file"))
}

func path(name string) string { return "builtin/" + name + ".yaml" }

// describe reads the comment at the head of the text, its title and what it covers.
func describe(name, text string) Info {
	info := Info{Name: name}
	var doc []string
	head := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		comment, isComment := strings.CutPrefix(line, "#")
		if head = head && isComment; head {
			doc = append(doc, strings.TrimSpace(comment))
		}
		if title, ok := strings.CutPrefix(line, "title: "); ok {
			info.Title = title
		}
		if covers, ok := strings.CutPrefix(line, "covers: "); ok {
			info.Covers = strings.Split(strings.Trim(covers, "[]"), ", ")
		}
	}
	info.Doc = strings.Join(doc, "\n")
	return info
}

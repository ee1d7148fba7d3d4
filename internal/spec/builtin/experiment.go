// Package builtin holds the built-in experiments. They are embedded specifications and serve as
// examples of the format (docs/SPEC.md).
package builtin

import (
	"embed"
	"fmt"
	"strings"

	"tare/internal/bench"
)

//go:embed *.yaml
var files embed.FS

// names lists the experiments in display order.
var names = []string{"quick", "platforms", "overhead", "load", "storage", "kvm-disk", "network", "docker-network", "nesting", "applications", "web", "web-documents", "web-neighbours", "web-pairs", "redis", "ycsb", "oltp", "mysql", "cluster", "compute", "alike", "quick-neighbour", "neighbour", "isolation", "isolation-applications", "known-neighbour", "pairs", "sharing", "pinning", "scheduling", "shares-vs-sets",
	"soft-vs-hard", "overcommit", "overcommit-memory", "overcommit-applications", "startup", "boot", "footprint", "migration", "images", "density", "energy", "frequency", "command-example"}

// Info describes a built-in experiment.
type Info struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Doc   string `json:"doc"` // the comment at the head of its file
}

// List returns every built-in experiment.
func List() []Info {
	var all []Info
	for _, name := range names {
		text, err := files.ReadFile(path(name))
		if err != nil {
			panic(fmt.Sprintf("builtin: %v", err)) // embedded at build time
		}
		all = append(all, describe(name, string(text)))
	}
	return all
}

// Find returns the YAML text of a built-in experiment. For an unknown name the error wraps
// bench.ErrInvalid, and its hint lists the known names.
func Find(name string) ([]byte, error) {
	for _, n := range names {
		if n == name {
			return files.ReadFile(path(name))
		}
	}
	return nil, fmt.Errorf("experiment %q: unknown: %w%w", name, bench.ErrInvalid,
		bench.Hint("one of: "+strings.Join(names, ", ")+"; or the path of a YAML file"))
}

func path(name string) string { return name + ".yaml" }

// describe reads the comment at the head of the text, and its title.
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
	}
	info.Doc = strings.Join(doc, "\n")
	return info
}

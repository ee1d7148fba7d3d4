package plan

import (
	"fmt"
	"slices"
)

// findings are what is to be minded about cases, each said once for all the
// cases it holds for.
type findings struct {
	texts []string
	cases map[string][]string
}

func (f *findings) add(name string, texts []string) {
	if f.cases == nil {
		f.cases = map[string][]string{}
	}
	for _, t := range texts {
		if f.cases[t] == nil {
			f.texts = append(f.texts, t)
		}
		if !slices.Contains(f.cases[t], name) {
			f.cases[t] = append(f.cases[t], name)
		}
	}
}

func (f *findings) warnings() []string {
	var all []string
	for _, t := range f.texts {
		all = append(all, fmt.Sprintf("%s: %s", listed(f.cases[t]), t))
	}
	return all
}

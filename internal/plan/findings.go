package plan

import (
	"fmt"
	"slices"
)

// findings are what is to be minded about cases, each said once for all the
// cases it holds for.
type findings struct {
	texts []string
	cases map[string][]string // by text
	scene map[string]string   // of a case
	count map[string]int      // cases of a scene
}

// see counts a case of a scene, whether or not there is anything to mind.
func (f *findings) see(scene, name string) {
	if f.scene == nil {
		f.cases, f.scene, f.count = map[string][]string{}, map[string]string{}, map[string]int{}
	}
	if _, again := f.scene[name]; !again {
		f.scene[name] = scene
		f.count[scene]++
	}
}

// add says the texts of a case that was seen.
func (f *findings) add(name string, texts []string) {
	for _, t := range texts {
		if f.cases[t] == nil {
			f.texts = append(f.texts, t)
		}
		if !slices.Contains(f.cases[t], name) {
			f.cases[t] = append(f.cases[t], name)
		}
	}
}

// warnings are the texts, each with where it holds: a scene where it holds for
// every level of its factors, or else cases.
func (f *findings) warnings() []string {
	var all []string
	for _, t := range f.texts {
		holds := map[string]int{}
		for _, c := range f.cases[t] {
			holds[f.scene[c]]++
		}
		var where []string
		for _, c := range f.cases[t] {
			if s := f.scene[c]; holds[s] == f.count[s] {
				c = s
			}
			if !slices.Contains(where, c) {
				where = append(where, c)
			}
		}
		all = append(all, fmt.Sprintf("%s: %s", listed(where), t))
	}
	return all
}

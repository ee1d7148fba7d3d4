package analysis

import (
	"slices"
	"strings"
)

// ignored begins the caveat of a platform that enforces no limits.
const ignored = "limits ignored"

// wearing is a platform's label with the caveats that it must wear wherever its
// name is shown.
func wearing(label string, caveats []string) string {
	if !slices.ContainsFunc(caveats, func(c string) bool { return strings.HasPrefix(c, ignored) }) {
		return label
	}
	if label == "" {
		return ignored
	}
	return label + ", " + ignored
}

// caveats are what the launches found of their subjects that every figure of
// theirs depends on, each once.
func (l *launches) caveats() []string {
	var all []string
	add := func(text string) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, t := range l.asked {
		if t.outcome == nil {
			continue
		}
		for _, a := range t.outcome.Actors {
			if !a.Role.OfSubject() {
				continue
			}
			for _, c := range a.Caveats {
				add(c)
			}
			for _, limit := range a.Unenforced {
				add("not enforced: " + limit)
			}
		}
	}
	return all
}

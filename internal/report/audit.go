package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/result"
)

// auditView is the fairness of one platform's comparison in a case.
type auditView struct {
	Name    string
	Counts  string
	Invalid bool
	// Said are the checks that differ or are invalid, Rest all others.
	Said, Other []audit.Check
}

// auditsOf gathers the audits of a case, one per platform: they are the same for every metric.
func auditsOf(rows []result.Row) []auditView {
	var views []auditView
	for _, row := range rows {
		name := row.Name()
		if row.Effect == nil || row.Effect.Audit == nil || slices.ContainsFunc(views, func(v auditView) bool { return v.Name == name }) {
			continue
		}
		v := auditView{Name: name}
		n := map[audit.State]int{}
		for _, c := range row.Effect.Audit.Checks {
			n[c.State]++
			if c.State == audit.Differs || c.State == audit.Invalid {
				v.Said = append(v.Said, c)
			} else {
				v.Other = append(v.Other, c)
			}
		}
		slices.SortStableFunc(v.Said, func(a, b audit.Check) int { return rank(a.State) - rank(b.State) })
		var counts []string
		for _, s := range []audit.State{audit.Same, audit.Differs, audit.Unknown, audit.Invalid} {
			if n[s] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n[s], s))
			}
		}
		v.Counts, v.Invalid = strings.Join(counts, ", "), n[audit.Invalid] > 0
		views = append(views, v)
	}
	return views
}

// rank puts what forbids a comparison first.
func rank(s audit.State) int {
	if s == audit.Invalid {
		return 0
	}
	return 1
}

// auditText is what differs between each platform and the baseline; what
// was said of an earlier case is not said again.
func auditText(rows []result.Row, before map[string]bool) []block {
	var doc []block
	for _, v := range auditsOf(rows) {
		doc = append(doc, text{"  fairness of ", "    ", v.Name + ": " + v.Counts})
		again := 0
		for _, c := range v.Said {
			words := fmt.Sprintf("%s %s: %s against %s: %s", c.Name, c.State, c.Subject, c.Baseline, c.Why)
			if key := v.Name + words; before[key] {
				again++
			} else {
				before[key] = true
				doc = append(doc, text{"    - ", "      ", words})
			}
		}
		if again > 0 {
			doc = append(doc, text{"    - ", "      ", fmt.Sprintf("%d of them as said above", again)})
		}
	}
	return doc
}

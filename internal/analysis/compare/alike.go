package compare

import (
	"fmt"
	"strings"

	"tare/internal/analysis/audit"
)

// alike holds the runs of a side to their first: what forbids a comparison
// forbids to take them for one thing, and other differences are said.
func (c *Comparison) alike(side string, runs []Run) {
	for _, r := range runs[1:] {
		for _, k := range audit.CompareRuns(runs[0].audited(), r.audited()) {
			switch text := fmt.Sprintf("the runs of %s are not alike: %s", side, between(k, runs[0], r)); {
			case k.State == audit.Invalid && c.unlike == "":
				c.unlike = text
			case k.State == audit.Differs && k.Name != "boot" && k.Name != "copy of the image": // others are wanted
				c.Warnings = append(c.Warnings, text)
			}
		}
	}
}

// unlikeRows says why a row of several runs of a side is not of one thing; "" if it is.
func unlikeRows(runs []Run, rows []audit.Row) string {
	for i := range rows[1:] {
		for _, k := range audit.CompareRows(rows[0], rows[i+1]) {
			if k.State == audit.Invalid || k.State == audit.Differs && k.Name == audit.PlatformVersion {
				return "the runs of one side are not alike: " + between(k, runs[0], runs[i+1])
			}
		}
	}
	return ""
}

func between(k audit.Check, a, b Run) string {
	return fmt.Sprintf("%s: %s in %s, %s in %s", k.Name, k.Baseline, a.name(), k.Subject, b.name())
}

// fits reports whether none of the checks forbids a comparison.
func fits(checks []audit.Check) bool {
	a := audit.Audit{Checks: checks}
	return len(a.Invalid()) == 0
}

// fitting are the archived runs that tell how much runs of A's host differ: none
// of those compared, on the same host and with the same image. What is left out
// is said.
func (c *Comparison) fitting(a, b []Run, o Options) []Run {
	known := map[string]bool{}
	for _, side := range [][]Run{a, b} {
		for _, r := range side {
			known[r.name()] = true
		}
	}
	var fit []Run
	for _, r := range o.Archive {
		if known[r.name()] {
			continue
		}
		known[r.name()] = true
		var why []string
		for _, k := range audit.CompareRuns(a[0].audited(), r.audited()) {
			if k.State == audit.Invalid || k.State == audit.Differs && k.Name == "host name" {
				why = append(why, between(k, a[0], r))
			}
		}
		if o.Relative && r.Result.Baseline != c.Baseline {
			why = append(why, "its baseline is "+r.Result.Baseline)
		}
		if why != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("archived run %s is left out: %s", r.name(), strings.Join(why, "; ")))
			continue
		}
		fit = append(fit, r)
	}
	return fit
}

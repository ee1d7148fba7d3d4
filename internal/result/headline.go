package result

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Headlines are the headline effects, with how many launches of each did not finish. Of
// cases that are set against others on the same platform these are the ones asked for.
func (r *Result) Headlines() iter.Seq2[*Effect, int] {
	return func(yield func(*Effect, int) bool) {
		if r.Relative != nil {
			for _, row := range r.Relative.Rows {
				for _, cell := range row.Cells {
					if cell != nil && row.Metric.Headline && !yield(cell.Effect, cell.DNF) {
						return
					}
				}
			}
		}
		within := r.Relative.Cases()
		for _, c := range r.Cases {
			for _, row := range c.Rows {
				if !within[c.Name] && row.Metric.Headline && row.Effect != nil && !yield(row.Effect, row.DNF) {
					return
				}
			}
		}
	}
}

// mostBlocks is the most that a specification can have.
const mostBlocks = 1000

// WithMore is the command that measures the run's experiment anew with more blocks,
// or as before where that is not for tare run.
func (r *Result) WithMore() string {
	if !strings.HasPrefix(r.Repeat, "tare run ") {
		return r.Repeat
	}
	if u := r.Until; u != nil {
		return fmt.Sprintf("%s --set until.interval=%.2g%% --set until.max=%d", withoutSets(r.Repeat, "until.interval", "until.max"), 50*u.Interval, min(mostBlocks, 3*u.Max))
	}
	return fmt.Sprintf("%s --set blocks=%d", withoutSets(r.Repeat, "blocks"), min(mostBlocks, max(10, 3*r.Blocks)))
}

// oneSet is an override in a command line for a shell, quoted where it needs be.
var oneSet = regexp.MustCompile(` --set (?:'[^']*'|\S+)`)

// withoutSets is the command without the overrides of these paths.
func withoutSets(command string, paths ...string) string {
	return oneSet.ReplaceAllStringFunc(command, func(set string) string {
		path, _, _ := strings.Cut(strings.Trim(strings.TrimPrefix(set, " --set "), "'"), "=")
		if slices.Contains(paths, strings.TrimSpace(path)) {
			return ""
		}
		return set
	})
}

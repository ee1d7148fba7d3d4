package result

import (
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// answers are the rows of the case's metrics that answer the question; nil if it has none of them.
func (r *Result) answers(c *Case) []Row {
	var rows []Row
	for _, name := range r.Answers {
		for _, row := range c.Rows {
			if row.Metric.Name == name {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Speaks says whether a metric answers the question, or is a headline metric where the experiment names
// none.
func (r *Result) Speaks(m bench.Metric) bool {
	if len(r.Answers) > 0 {
		return slices.Contains(r.Answers, m.Name)
	}
	return m.Headline
}

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
		for i := range r.Cases {
			c := &r.Cases[i]
			answers := r.answers(c)
			rows := answers
			if rows == nil {
				rows = c.Rows
			}
			for _, row := range rows {
				if !within[c.Name] && (answers != nil || row.Metric.Headline) && row.Effect != nil && !yield(row.Effect, row.DNF) {
					return
				}
			}
		}
	}
}

// mostBlocks is the most that a specification can have.
const mostBlocks = 1000

// fewestMore is how many more blocks are worth a command, and what is tried where nothing is known.
const fewestMore = 10

// More is what the undecided headline effects of a run are estimated to need.
type More struct {
	Blocks  int     // in all, for each that any number of blocks may decide
	Added   int     // beyond what each has, at least 10
	Seconds float64 // that these take at most, by what trials took; 0 where nothing is known
	Open    int     // how many effects are undecided, of which
	Beyond  int     // are not decided by the most blocks there may be
}

// More estimates it. What did not finish beside a neighbour is decided.
func (r *Result) More() More {
	m := More{Added: fewestMore}
	trial := r.Seconds / float64(max(1, r.Trials.Done+r.Trials.Failed+r.Trials.DNF+r.Trials.Overdue))
	for e, dnf := range r.Headlines() {
		if dnf > 0 || e.Verdict != Inconclusive && e.Verdict != Refused {
			continue
		}
		m.Open++
		switch {
		case e.Needed > stats.MostNeeded:
			m.Beyond++
		case e.Needed > 0:
			m.Blocks = max(m.Blocks, e.Needed)
			m.Added = max(m.Added, e.Needed-e.N)
			m.Seconds += 2 * trial * float64(e.Needed-e.N) // of it and of what it is compared with
		default: // as many again
			m.Blocks = max(m.Blocks, fewestMore)
			m.Added = max(m.Added, r.Blocks)
		}
	}
	return m
}

// WithMore is the command that measures the run's experiment anew with the blocks that would
// decide it, or as before where that is not for tare run.
func (r *Result) WithMore() string {
	if !strings.HasPrefix(r.Repeat, "tare run ") {
		return r.Repeat
	}
	m := r.More()
	u := r.Until
	if u == nil {
		blocks := m.Blocks
		if m.Seconds == 0 {
			blocks = max(fewestMore, 3*r.Blocks)
		}
		return fmt.Sprintf("%s --set blocks=%d", withoutSets(r.Repeat, "blocks"), min(mostBlocks, blocks))
	}
	sets := fmt.Sprintf(" --set until.interval=%.2g%% --set until.max=%d", 50*u.Interval, min(mostBlocks, max(3*u.Max, m.Blocks)))
	paths := []string{"until.interval", "until.max"}
	if u.Budget > 0 {
		sets += " --set budget=" + Minutes(r.Seconds+m.Seconds)
		paths = append(paths, "budget")
	}
	return withoutSets(r.Repeat, paths...) + sets
}

// Minutes writes so many seconds as a flag does, in whole minutes and at least 5: 12m.
func Minutes(seconds float64) string {
	return fmt.Sprintf("%dm", max(5, int(math.Ceil(seconds/60))))
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

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// failuresText lists what did not finish, by what became of it.
func failuresText(r *result.Result) []block {
	what := "did not finish"
	if len(r.Unfinished)+len(r.Overdue) > 0 {
		what = "failed for other reasons"
	}
	var doc []block
	for _, kind := range []struct {
		what string
		of   []result.Failure
	}{{unfinishedWords(r), r.Unfinished}, {"ended by the time limit of the containment", r.Overdue}, {what, r.Failures}} {
		if len(kind.of) > 0 {
			doc = append(doc, blank, lines{figure.Count(len(kind.of), "trial") + " " + kind.what + ":"}, failures(kind.of))
		}
	}
	return doc
}

// unfinishedWords is what launches did that did not finish, by what the run's
// cases asked of them.
func unfinishedWords(r *result.Result) string {
	pool := func(c result.Case) bool { return c.MemoryPool > 0 }
	switch first := slices.IndexFunc(r.Cases, pool); {
	case first < 0:
		return "did not finish beside the neighbour"
	case slices.ContainsFunc(r.Cases, func(c result.Case) bool { return !pool(c) }):
		return "did not finish beside the neighbour or in the pool of memory"
	}
	return "did not finish in the pool of memory"
}

// failures are trials with their reasons, those of one reason together.
type failures []result.Failure

func (all failures) write(out io.Writer) {
	for n, f := range all {
		alike := func(g result.Failure) bool { return g.Phase == f.Phase && g.Error == f.Error && g.Hint == f.Hint }
		if slices.IndexFunc(all, alike) < n {
			continue // it was named with the first
		}
		var trials []string
		for _, g := range all[n:] {
			if alike(g) {
				trials = append(trials, g.Trial+" "+g.Scene)
			}
		}
		text{"  ", "    ", fmt.Sprintf("%s, in %s: %s", strings.Join(trials, ", "), f.Phase, f.Error)}.write(out)
		if f.Hint != "" {
			text{"    ", "    ", "hint: " + f.Hint}.write(out)
		}
	}
}

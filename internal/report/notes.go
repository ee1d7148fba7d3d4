package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/result"
)

// note is something to be known of rows of a case, said once for all of them.
type note struct {
	Of   string // whose rows: the platforms and, unless it is all of them, the metrics
	Text string
}

func notesText(rows []result.Row) block { return noted(notesOf(rows)) }

// noted are notes as points of a list.
type noted []note

func (all noted) write(out io.Writer) {
	for _, n := range all {
		text{"  - ", "    ", n.Of + ": " + n.Text}.write(out)
	}
}

// notesOf gathers what is said of the rows of a case: why an effect was
// refused or is in doubt, what its sides do not share, and warnings. Metrics
// are named where a note does not hold for every metric shown.
func notesOf(rows []result.Row) []note {
	type key struct{ platform, text string }
	var metrics, all []string
	var keys []key
	held := map[key][]string{}
	for _, row := range rows {
		if !slices.Contains(metrics, row.Metric.Name) {
			metrics = append(metrics, row.Metric.Name)
		}
		if name := row.Name(); !slices.Contains(all, name) {
			all = append(all, name)
		}
		for _, text := range remarks(row) {
			k := key{row.Name(), text}
			if held[k] == nil {
				keys = append(keys, k)
			}
			if !slices.Contains(held[k], row.Metric.Name) {
				held[k] = append(held[k], row.Metric.Name)
			}
		}
	}
	var notes []note
	platforms := map[[2]string][]string{} // by text and metrics
	var order [][2]string
	for _, k := range keys {
		of := ""
		switch {
		case len(held[k]) == len(metrics):
		case len(held[k]) > 3:
			of = fmt.Sprintf(" (%d of %d metrics)", len(held[k]), len(metrics))
		default:
			of = " (" + strings.Join(held[k], ", ") + ")"
		}
		id := [2]string{k.text, of}
		if platforms[id] == nil {
			order = append(order, id)
		}
		platforms[id] = append(platforms[id], k.platform)
	}
	for _, id := range order {
		if len(platforms[id]) == len(all) && len(all) > 1 {
			platforms[id] = []string{"all platforms"}
		}
		notes = append(notes, note{strings.Join(platforms[id], "; ") + id[1], id[0]})
	}
	return notes
}

// remarks are everything a row wants known beside its numbers.
func remarks(row result.Row) []string {
	var texts []string
	if e := row.Effect; e != nil {
		for _, text := range []string{e.UnfairWords(), e.Why, e.Caution, e.Loaded} {
			if text != "" && !slices.Contains(row.Warnings, text) {
				texts = append(texts, text)
			}
		}
	}
	return append(texts, row.Warnings...)
}

// effectWords says a row's effect without what its notes say.
func effectWords(row result.Row) string {
	e := row.Effect
	switch {
	case row.Baseline:
		return "baseline"
	case e == nil:
		return "nothing to compare with"
	case e.Verdict == result.Refused:
		return "not compared"
	case e.Verdict == result.Unfair:
		return "no comparison"
	}
	return strings.TrimSuffix(e.Words, e.Worn())
}

package report

import (
	"fmt"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

const (
	watchTitle = "Was the host usable beside an adversary?"
	watchNote  = "Time to start a program outside of the containment, ten times a second: fork, execute, end, wait. Milliseconds, of all launches together."
)

// watchView is a row of that table.
type watchView struct {
	Case, Name, P50, P99, Max, Starts string
	Available, Peak, OOM, Notes       string
	Beyond                            bool // above the bound
}

// watchBound is what a start may take at the 99th percentile, in milliseconds.
const watchBound = 1000

func watchesOf(r *result.Result) []watchView {
	var views []watchView
	for _, w := range r.Watches {
		v := watchView{
			Case: w.Title, Name: w.Name(), P50: figure.Number(w.P50), P99: figure.Number(w.P99), Max: figure.Number(w.Max), Starts: fmt.Sprint(w.Starts),
			Available: bench.Bytes(w.Available).String(), Peak: fmt.Sprint(w.Peak), OOM: fmt.Sprintf("%d, %d", w.OOMInside, w.OOM), Beyond: w.P99 > watchBound,
		}
		var notes []string
		if n := len(w.Ended); n > 0 {
			notes = append(notes, fmt.Sprintf("ended by the watchdog in %d of %d: %s", n, w.Launches, strings.Join(w.Ended, "; ")))
		}
		if w.Overdue > 0 {
			notes = append(notes, fmt.Sprintf("the containment's time limit was reached in %d of %d", w.Overdue, w.Launches))
		}
		if n := len(w.Died); n > 0 {
			notes = append(notes, fmt.Sprintf("gone meanwhile, of themselves or not: %d of the host (%s)", n, few(w.Died)))
		}
		v.Notes = strings.Join(notes, "; ")
		views = append(views, v)
	}
	return views
}

// few lists at most five.
func few(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

func watchText(r *result.Result) []block {
	if len(r.Watches) == 0 {
		return nil
	}
	views := watchesOf(r)
	doc := []block{blank, text{"", "", watchTitle}, said{watchNote}, table[watchView]{rows: views, columns: []column[watchView]{
		{"STARTING A PROGRAM, MS", func(v watchView) string { return "  " + v.Name }},
		{"P50", func(v watchView) string { return v.P50 }},
		{"P99", func(v watchView) string { return v.P99 }},
		{"MAX", func(v watchView) string { return v.Max }},
		{"STARTS", func(v watchView) string { return v.Starts }},
		{"LEAST MEMORY", func(v watchView) string { return v.Available }},
		{"MOST TASKS", func(v watchView) string { return v.Peak }},
		{"OOM KILLS IN CONTAINMENT, ELSEWHERE", func(v watchView) string { return v.OOM }},
	}, group: func(v watchView) []string { return []string{v.Case, "", "", "", "", "", "", ""} }}}
	for _, v := range views {
		if v.Notes != "" {
			doc = append(doc, listed{v.Case + ", " + v.Name + ": " + v.Notes})
		}
	}
	return doc
}

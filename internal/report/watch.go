package report

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
)

const (
	watchTitle = "Was the host usable beside what meant harm?"
	watchNote  = "Time to start a program outside of the cage, ten times a second: fork, execute, end, wait. Milliseconds, of all launches together."
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
			Case: w.Title, Name: labelled(w.Platform, w.Label), P50: figure.Number(w.P50), P99: figure.Number(w.P99), Max: figure.Number(w.Max), Starts: fmt.Sprint(w.Starts),
			Available: bench.Bytes(w.Available).String(), Peak: fmt.Sprint(w.Peak), OOM: fmt.Sprintf("%d, %d", w.OOMInside, w.OOM), Beyond: w.P99 > watchBound,
		}
		var notes []string
		if n := len(w.Ended); n > 0 {
			notes = append(notes, fmt.Sprintf("ended by the watchdog in %d of %d: %s", n, w.Launches, strings.Join(w.Ended, "; ")))
		}
		if w.Overdue > 0 {
			notes = append(notes, fmt.Sprintf("the cage's time was over in %d of %d", w.Overdue, w.Launches))
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

func watchText(out io.Writer, r *result.Result) {
	if len(r.Watches) == 0 {
		return
	}
	fmt.Fprintln(out)
	paragraph(out, "", "", watchTitle)
	paragraph(out, "  ", "  ", watchNote)
	var t table
	t.row("  STARTING A PROGRAM, MS", "P50", "P99", "MAX", "STARTS", "LEAST MEMORY", "MOST TASKS", "OOM KILLS IN CAGE, ELSEWHERE")
	last := ""
	for _, v := range watchesOf(r) {
		if v.Case != last {
			last = v.Case
			t.row("  "+last, "", "", "", "", "", "", "")
		}
		t.row("    "+v.Name, v.P50, v.P99, v.Max, v.Starts, v.Available, v.Peak, v.OOM)
	}
	t.write(out)
	for _, v := range watchesOf(r) {
		if v.Notes != "" {
			paragraph(out, "  - ", "    ", v.Case+", "+v.Name+": "+v.Notes)
		}
	}
}

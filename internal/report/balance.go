package report

import (
	"fmt"
	"io"
	"math"

	"tare/internal/figure"
	"tare/internal/result"
)

// balanceLimit is the gap between parts and whole from which on it is counted as one.
const balanceLimit = 0.03

// balanceView is a row of the table that sets the parts against the whole host.
type balanceView struct {
	Case, Name                             string
	Guest, Layer, Others, Rest, Sum, Whole string
	Gap                                    string
	Beyond                                 bool
}

func balancesOf(r *result.Result) []balanceView {
	var views []balanceView
	for _, b := range r.Balances() {
		v := balanceView{Case: b.Title, Name: labelled(b.Platform, b.Label), Guest: "–", Layer: "–", Others: "–", Rest: "–", Sum: "–", Whole: "–", Gap: "not measured"}
		if b.Gap != nil {
			for into, value := range map[*string]float64{&v.Guest: b.Guest, &v.Layer: b.Layer, &v.Others: b.Others, &v.Rest: b.Rest, &v.Sum: b.Sum, &v.Whole: b.Busy} {
				*into = figure.Fixed(value, 3)
			}
			v.Gap = figure.Fixed(100**b.Gap, 1) + "\u00a0%"
			v.Beyond = !b.Within(balanceLimit)
		}
		views = append(views, v)
	}
	return views
}

// balanceAnswer says in a sentence whether the parts sum to the whole, "" if nothing was read.
func balanceAnswer(r *result.Result) string {
	rows, measured, within := r.Balances(), 0, 0
	var worst *result.Balance
	for i := range rows {
		b := &rows[i]
		if b.Gap == nil {
			continue
		}
		measured++
		if b.Within(balanceLimit) {
			within++
		}
		if worst == nil || math.Abs(*b.Gap) > math.Abs(*worst.Gap) {
			worst = b
		}
	}
	switch {
	case len(rows) == 0:
		return ""
	case worst == nil:
		return "It was not measured whether the parts sum to the host's own counter."
	}
	s := fmt.Sprintf("Guest, layer and rest sum to the host's own counter of CPU time within %.0f %% in %d of %d rows", 100*balanceLimit, within, measured)
	if missing := len(rows) - measured; missing > 0 {
		s += fmt.Sprintf(" (%d not measured)", missing)
	}
	return s + fmt.Sprintf("; the largest gap is %s %%, of %.3f cores, with %s in %s.",
		figure.Fixed(100**worst.Gap, 1), worst.Busy, labelled(worst.Platform, worst.Label), worst.Case)
}

// balanceText writes the sentence and, if all is set, the table.
func balanceText(out io.Writer, r *result.Result, all bool) {
	answer := balanceAnswer(r)
	if answer == "" {
		return
	}
	fmt.Fprintln(out)
	paragraph(out, "", "  ", answer)
	if !all {
		return
	}
	var t table
	t.row("  CPU IN CORES", "GUEST", "LAYER", "PEERS", "REST", "SUM", "HOST'S COUNTER", "GAP")
	last := ""
	for _, v := range balancesOf(r) {
		if v.Case != last {
			last = v.Case
			t.row("  " + last)
		}
		t.row("    "+v.Name, v.Guest, v.Layer, v.Others, v.Rest, v.Sum, v.Whole, v.Gap)
	}
	t.write(out)
}

package report

import (
	"fmt"
	"math"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// balanceView is a row of the table that sets the parts against the whole host.
type balanceView struct {
	Case, Name                              string
	Guest, Layer, Others, Other, Sum, Whole string
	Gap                                     string
	Beyond                                  bool
}

func balancesOf(r *result.Result) []balanceView {
	var views []balanceView
	for _, b := range r.Balances() {
		v := balanceView{Case: b.Title, Name: b.Name(), Guest: "–", Layer: "–", Others: "–", Other: "–", Sum: "–", Whole: "–", Gap: "not measured"}
		if b.Gap != nil {
			for into, value := range map[*string]float64{&v.Guest: b.Guest, &v.Layer: b.Layer, &v.Others: b.Actors, &v.Other: b.Other, &v.Sum: b.Sum, &v.Whole: b.Busy} {
				*into = figure.Fixed(value, 3)
			}
			v.Gap = figure.Fixed(100**b.Gap, 1) + "\u00a0%"
			v.Beyond = !b.Within(result.BalanceLimit)
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
		if b.Within(result.BalanceLimit) {
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
	s := fmt.Sprintf("Guest, layer and rest sum to the host's own counter of CPU time within %.0f %% in %d of %d rows", 100*result.BalanceLimit, within, measured)
	if missing := len(rows) - measured; missing > 0 {
		s += fmt.Sprintf(" (%d not measured)", missing)
	}
	return s + fmt.Sprintf("; the largest gap is %s %%, of %.3f cores, with %s in %s.",
		figure.Fixed(100**worst.Gap, 1), worst.Busy, worst.Name(), worst.Case)
}

// balanceText is the sentence and the table.
func balanceText(r *result.Result) []block {
	answer := balanceAnswer(r)
	if answer == "" {
		return nil
	}
	doc := []block{blank, text{"", "  ", answer}}
	doc = append(doc, table[balanceView]{rows: balancesOf(r), columns: []column[balanceView]{
		{"CPU IN CORES", func(v balanceView) string { return "  " + v.Name }},
		{"GUEST", func(v balanceView) string { return v.Guest }},
		{"LAYER", func(v balanceView) string { return v.Layer }},
		{"PEERS", func(v balanceView) string { return v.Others }},
		{"REST", func(v balanceView) string { return v.Other }},
		{"SUM", func(v balanceView) string { return v.Sum }},
		{"HOST'S COUNTER", func(v balanceView) string { return v.Whole }},
		{"GAP", func(v balanceView) string { return v.Gap }},
	}, group: func(v balanceView) []string { return []string{v.Case} }})
	return doc
}

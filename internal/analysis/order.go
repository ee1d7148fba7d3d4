package analysis

import (
	"cmp"
	"fmt"
	"math"

	"tare/internal/analysis/stats"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// turn is when a trial had its turn.
type turn struct {
	place float64 // in the block: 0 is the first of its trials that ran, 1 the last
	after string  // the platform of the trial before it; "" for the first of the run
}

// turnsOf returns when each trial had its turn among those that ran.
func turnsOf(trials []launch) map[string]turn {
	all := map[string]turn{}
	var block []string
	end := func() {
		for i, id := range block {
			t := all[id]
			t.place = float64(i) / float64(max(1, len(block)-1))
			all[id] = t
		}
		block = nil
	}
	before, number := "", 0
	for _, t := range trials {
		if t.outcome == nil || t.outcome.GivenUp != "" || t.scene == nil {
			continue
		}
		if t.Block != number {
			end()
			number = t.Block
		}
		all[t.ID] = turn{after: before}
		before = t.scene.Platform.String()
		block = append(block, t.ID)
	}
	end()
	return all
}

// orderTest is a test of a row whether a launch's turn explains its value.
type orderTest struct {
	row  *result.Row
	p    float64
	says string
}

// warnOfOrder tests for each headline row whether the place in the block, or the platform that ran
// before, explains the values, and warns where that is so after Holm's correction for all of these
// tests. The order is left to chance, so the tests suppose nothing of the values' distribution.
func warnOfOrder(cases []result.Case, trials []launch) {
	turns := turnsOf(trials)
	var tests []orderTest
	for i := range cases {
		rows := map[string][]*result.Row{}
		for j := range cases[i].Rows {
			if row := &cases[i].Rows[j]; row.Metric.Headline {
				rows[row.Metric.Name] = append(rows[row.Metric.Name], row)
			}
		}
		for j := range cases[i].Rows {
			if row := &cases[i].Rows[j]; row.Metric.Headline {
				tests = append(tests, orderTests(row, rows[row.Metric.Name], turns)...)
			}
		}
	}
	var p []float64
	for _, t := range tests {
		p = append(p, t.p)
	}
	for i, adjusted := range stats.Holm(p) {
		if t := tests[i]; adjusted < orderSignificance {
			t.row.Warnings = append(t.row.Warnings, fmt.Sprintf("%s (%s, corrected for %s): the order of trials is in its values",
				t.says, figure.P(adjusted), figure.Count(len(tests), "test")))
		}
	}
}

// orderSignificance is the share of runs in which order may be seen where it does not matter.
const orderSignificance = 0.05

// orderTests makes the two tests of a row, as far as its values allow them.
func orderTests(row *result.Row, beside []*result.Row, turns map[string]turn) (tests []orderTest) {
	values := levelled(row, beside)
	places, groups, names := make([]float64, len(values)), make([]int, len(values)), []string{}
	index := map[string]int{}
	for i, p := range row.Points {
		t := turns[p.Trial]
		places[i] = t.place
		g, ok := index[t.after]
		if !ok {
			g = len(names)
			index[t.after], names = g, append(names, t.after)
		}
		groups[i] = g
	}
	if growth, p, err := stats.PlaceMatters(values, places); err == nil {
		tests = append(tests, orderTest{row, p, fmt.Sprintf("%s from the first place in a block to the last", figure.Drift(math.Expm1(growth)))})
	}
	if p, err := stats.GroupsMatter(values, groups); err == nil {
		after, share := farthest(values, groups, len(names))
		tests = append(tests, orderTest{row, p, fmt.Sprintf("%s after %s", figure.Drift(math.Expm1(share)), cmp.Or(names[after], "nothing"))})
	}
	return tests
}

// leastBeside is how many other rows tell the level of a block.
const leastBeside = 2

// levelled are the logarithms of a row's values, each without the level of its block, by the median of
// what the other platforms had there, where there are enough. What is not positive is NaN, which no
// test takes.
func levelled(row *result.Row, beside []*result.Row) []float64 {
	others := map[int][]float64{} // by block
	for _, r := range beside {
		if r == row {
			continue
		}
		middle := math.Log(stats.Median(result.Values(r.Points)))
		for _, p := range r.Points {
			others[p.Block] = append(others[p.Block], math.Log(p.Value)-middle)
		}
	}
	values := make([]float64, len(row.Points))
	for i, p := range row.Points {
		values[i] = math.Log(p.Value)
		if o := others[p.Block]; len(o) >= leastBeside {
			values[i] -= stats.Median(o)
		}
	}
	return values
}

// farthest is the group whose mean is farthest from that of all, by the weight of its values, and how
// far that is.
func farthest(values []float64, group []int, groups int) (at int, far float64) {
	middle, most := stats.Mean(values), -1.0
	for g := range groups {
		var in []float64
		for i, v := range values {
			if group[i] == g {
				in = append(in, v)
			}
		}
		off := stats.Mean(in) - middle
		if weight := off * off * float64(len(in)); weight > most {
			at, far, most = g, off, weight
		}
	}
	return at, far
}

package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/papers"
	"tare/internal/result"
)

// quantity is the logarithm of what the claim tests, by block; of a slope the slope.
func (a asked) quantity(c *papers.Claim) (logs map[int]float64, caution, why string) {
	if a.in != nil {
		return a.ratio(c.Metric)
	}
	levels := map[int][]float64{}
	values := map[int][]float64{}
	n := 0
	for _, in := range a.along {
		x, ok := bench.LevelNumber(in.Factors[a.factor])
		if !ok || x <= 0 {
			continue
		}
		one := a
		one.in, one.along = in, nil
		at, careful, why := one.ratio(c.Metric)
		if why != "" {
			return nil, "", why
		}
		n++
		caution = cmp.Or(caution, careful)
		for block, y := range at {
			levels[block], values[block] = append(levels[block], math.Log(x)), append(values[block], y)
		}
	}
	if n < 2 {
		return nil, "", fmt.Sprintf("%s was measured at fewer than two levels of %s", a.what(), a.factor)
	}
	logs = map[int]float64{}
	for block, x := range levels {
		if len(x) != n {
			continue // a level is missing in it
		}
		line, err := stats.FitLine(x, values[block])
		if err != nil {
			return nil, "", err.Error()
		}
		logs[block] = line.Slope
	}
	return logs, caution, ""
}

// ratio is the logarithm of the claim's ratio in one case, by block.
func (a asked) ratio(metric string) (logs map[int]float64, caution, why string) {
	type term struct {
		platform string
		in       *result.Case
		sign     float64
	}
	terms := []term{{a.of, a.in, 1}}
	if a.to != "" {
		terms = append(terms, term{a.to, a.in, -1})
	}
	if a.against != nil {
		terms = append(terms, term{a.of, a.against, -1})
		if a.to != "" {
			terms = append(terms, term{a.to, a.against, 1})
		}
	}
	sums, counts := map[int]float64{}, map[int]int{}
	for _, t := range terms {
		points, _, careful, why := a.run.values(t.in, t.platform, metric)
		if why != "" {
			return nil, "", why
		}
		caution = cmp.Or(caution, careful)
		for _, p := range points {
			if !(p.Value > 0) {
				return nil, "", fmt.Sprintf("%s has %s in trial %s, of which there is no ratio", t.platform, figure.Number(p.Value), p.Trial)
			}
			sums[p.Block] += t.sign * math.Log(p.Value)
			counts[p.Block]++
		}
	}
	for block := range sums {
		if counts[block] != len(terms) {
			delete(sums, block)
		}
	}
	if len(sums) == 0 {
		return nil, "", fmt.Sprintf("no block has all of %s", a.what())
	}
	return sums, caution, ""
}

func sortedBlocks(m map[int]float64) []int {
	blocks := make([]int, 0, len(m))
	for b := range m {
		blocks = append(blocks, b)
	}
	slices.Sort(blocks)
	return blocks
}

package analysis

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// fewestLevels of a factor make a curve worth drawing.
const fewestLevels = 3

// worse is by which share a curve without a knee must have become worse.
const worse = 0.1

// sweeps are drawn of every factor with numbers for levels, of the headline
// metric, the first latency and what the subjects used.
func sweeps(cases []result.Case, plan *bench.Plan) []result.Sweep {
	var all []result.Sweep
	at := map[string]int{}
	for i := range cases {
		c := &cases[i]
		for _, factor := range slices.Sorted(maps.Keys(c.Factors)) {
			x, ok := bench.LevelNumber(c.Factors[factor])
			if !ok {
				continue
			}
			axis, level := bench.FactorWords(factor), c.Factors[factor]
			if ratio, of := overcommitment(plan, c, factor); of != "" {
				x, axis = ratio, of
				level = strconv.FormatFloat(x, 'g', 3, 64)
			}
			for _, name := range drawn(c) {
				key := strings.Join([]string{others(c, factor), factor, name}, "\x00")
				k, seen := at[key]
				if !seen {
					k = len(all)
					at[key] = k
					all = append(all, result.Sweep{Name: others(c, factor), Title: c.Title, Factor: factor, Axis: axis})
				}
				all[k].Title = inCommon(all[k].Title, c.Title)
				addRows(&all[k], c, name, x, level)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s result.Sweep) bool {
		return !slices.ContainsFunc(s.Lines, func(l result.SweepLine) bool { return len(l.Points) >= fewestLevels })
	})
	for i := range all {
		finish(&all[i], cases, plan)
		peaks(&all[i], cases, plan)
	}
	return all
}

// addRows puts the case's rows of the metric on their lines.
func addRows(s *result.Sweep, c *result.Case, metric string, x float64, level string) {
	for _, row := range c.Rows {
		if row.Metric.Name != metric {
			continue
		}
		s.Metric = row.Metric
		k := slices.IndexFunc(s.Lines, func(l result.SweepLine) bool { return l.Platform == row.Platform })
		if k < 0 {
			k = len(s.Lines)
			s.Lines = append(s.Lines, result.SweepLine{Platform: row.Platform, Label: row.Label, Baseline: row.Baseline})
		}
		p := result.SweepPoint{X: x, Level: level, Median: row.Median, N: row.N}
		for i, v := range row.Points {
			if i == 0 || v.Value < p.Low {
				p.Low = v.Value
			}
			if i == 0 || v.Value > p.High {
				p.High = v.Value
			}
		}
		switch {
		case row.N > 0:
			s.Lines[k].Points = append(s.Lines[k].Points, p)
		case row.DNF > 0:
			s.Lines[k].DNF = append(s.Lines[k].DNF, level)
		}
	}
}

// finish orders the points and looks for knees.
func finish(s *result.Sweep, cases []result.Case, plan *bench.Plan) {
	for i := range s.Lines {
		l := &s.Lines[i]
		slices.SortFunc(l.Points, func(a, b result.SweepPoint) int {
			switch {
			case a.X < b.X:
				return -1
			case a.X > b.X:
				return 1
			}
			return 0
		})
		if s.Axis == bench.FactorWords(s.Factor) {
			continue // a knee is asked for where more instances want than there is
		}
		x, y := lineByBlock(s, l, cases, plan)
		k, err := stats.FindKnee(x, y, effect.Confidence)
		switch {
		case errors.Is(err, stats.ErrFew):
			l.NoKnee = "too few levels or blocks"
		case err != nil:
			l.NoKnee = err.Error()
		case !k.Sharp():
			l.NoKnee = k.WhyNot()
		default:
			l.Knee = &result.Knee{At: k.At, Low: k.Low, High: k.High}
			continue
		}
		share := 1 - worse
		if s.Metric.Better == bench.LowerIsBetter {
			share = 1 + worse
		}
		if c, ok, err := stats.FindCrossing(x, y, share, effect.Confidence); ok && err == nil {
			l.Threshold = &result.Threshold{Worse: worse, At: c.Mid, Low: c.Low, High: c.High}
		}
	}
}

// lineByBlock are the values of a line, a row per block in which every level finished.
func lineByBlock(s *result.Sweep, l *result.SweepLine, cases []result.Case, plan *bench.Plan) (x []float64, y [][]float64) {
	values := map[int]map[float64]float64{}
	for i := range cases {
		c := &cases[i]
		if others(c, s.Factor) != s.Name {
			continue
		}
		level, _ := overcommitment(plan, c, s.Factor)
		for _, row := range c.Rows {
			if row.Platform != l.Platform || row.Metric.Name != s.Metric.Name {
				continue
			}
			for _, p := range row.Points {
				if values[p.Block] == nil {
					values[p.Block] = map[float64]float64{}
				}
				values[p.Block][level] = p.Value
			}
		}
	}
	levels := map[float64]bool{}
	for _, row := range values {
		for level := range row {
			levels[level] = true
		}
	}
	order := slices.Sorted(maps.Keys(levels))
	for _, p := range l.Points {
		x = append(x, p.X)
	}
	for _, block := range slices.Sorted(maps.Keys(values)) {
		if len(values[block]) != len(order) {
			continue
		}
		var row []float64
		for _, level := range order {
			row = append(row, values[block][level])
		}
		y = append(y, row)
	}
	return x, y
}

// drawn are the metrics of a case that are drawn: its headline and, where that
// is none itself, the first latency.
func drawn(c *result.Case) []string {
	var names []string
	latency := ""
	for _, row := range c.Rows {
		switch {
		case row.Metric.Headline && !slices.Contains(names, row.Metric.Name):
			names = append(names, row.Metric.Name)
		case latency == "" && isLatency(row.Metric.Name):
			latency = row.Metric.Name
		case slices.Contains(bench.UsageMetrics, row.Metric) && !slices.Contains(names, row.Metric.Name):
			names = append(names, row.Metric.Name)
		}
	}
	if latency != "" && !slices.ContainsFunc(names, isLatency) {
		names = append(names, latency)
	}
	return names
}

// isLatency says whether a metric is a figure of the latency of all requests, such as
// "p95_latency", and not of one kind of them.
func isLatency(metric string) bool {
	figure, ok := strings.CutSuffix(metric, "_latency")
	return ok && !strings.Contains(figure, "_")
}

// overcommitment is how many virtual CPUs there are for each real one of a
// scene's pool, or how much memory of instances for each byte of it, where the
// factor changes that; of is "" where it does not.
func overcommitment(plan *bench.Plan, c *result.Case, factor string) (ratio float64, of string) {
	i := slices.IndexFunc(plan.Scenes, func(sc bench.Scene) bool { return sc.Case == c.Name })
	if i < 0 {
		return 0, ""
	}
	sc := &plan.Scenes[i]
	switch {
	case sc.MemoryPool > 0 && (factor == "memory_pool" || factor == "alike" || factor == "shape.memory"):
		return sc.MemoryRatio(), "memory of instances per memory of the pool"
	case sc.Pool > 0 && factor == "alike":
		alike, _ := bench.LevelNumber(c.Factors[factor])
		return alike * float64(sc.Actors[0].Shape.CPUs) / float64(sc.Pool), "virtual CPUs per real CPU"
	}
	return 0, ""
}

// others names a case without the factor's level.
func others(c *result.Case, factor string) string {
	scene, _, _ := strings.Cut(c.Name, "[")
	for _, f := range slices.Sorted(maps.Keys(c.Factors)) {
		if f != factor {
			scene += " " + f + "=" + c.Factors[f]
		}
	}
	return scene
}

// inCommon is what two titles share, between commas: a title without the words of a level. It is the
// first up to where they part, where one says more than the other.
func inCommon(a, b string) string {
	parts, others := strings.Split(a, ", "), strings.Split(b, ", ")
	var both []string
	for i, p := range parts {
		switch {
		case i < len(others) && p == others[i]:
			both = append(both, p)
		case len(parts) != len(others):
			return strings.Join(both, ", ")
		}
	}
	return strings.Join(both, ", ")
}

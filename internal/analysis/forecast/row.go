package forecast

import (
	"fmt"
	"math"

	"tare/internal/analysis/stats"
	"tare/internal/analysis/stop"
	"tare/internal/result"
)

// sides are what a run measured of a scene and of those that it is compared with; ok is false where
// one is missing, or was measured for another time.
func (r *Run) sides(q *stop.Question) (own *Scene, against []*Scene, ok bool) {
	own = r.Scenes[q.Own]
	for _, id := range q.Against { // a run without a control has one scene less
		if s := r.Scenes[id]; s != nil && own != nil && s.Window == own.Window {
			against = append(against, s)
		}
	}
	return own, against, len(against) > 0
}

// fill answers a row from the earlier runs that measured both sides.
func (c *caseData) fill(row *Row, q *stop.Question, f *Forecast) {
	s := c.plan.Scene(q.Own)
	planned := 0.0
	if s.Kind.Sampled() {
		planned = s.Timing.Measure.Seconds()
	}
	by := map[float64][][]float64{} // ratios by run, by window
	var windows, fixed []float64
	var sides [2][]*Scene
	for _, r := range c.earlier {
		own, against, ok := r.sides(q)
		if !ok {
			continue
		}
		if len(against) < len(q.Against) {
			row.alone = fmt.Sprintf("run %s has no control: with one, ratios scatter less than is said", r.ID)
		}
		ratios, err := paired(own, against, row.Metric, s.Turns > 0)
		if err != nil {
			row.Why = fmt.Sprintf("run %s: %v", r.ID, err)
			return
		}
		if len(ratios) == 0 {
			continue
		}
		window := own.Window
		if planned > 0 && !(own.chosen() && against[0].chosen()) {
			window, row.through = planned, true
		}
		if _, seen := by[window]; !seen {
			windows = append(windows, window)
		}
		by[window] = append(by[window], ratios)
		fixed = append(fixed, own.fixed(), against[0].fixed())
		sides[0], sides[1] = append(sides[0], own), append(sides[1], against...)
	}
	if len(windows) == 0 {
		row.Why = "no earlier launch of it beside what it is compared with"
		return
	}
	row.Fixed = stats.Mean(fixed)
	for _, w := range windows {
		for _, ratios := range by[w] {
			row.Runs++
			row.Launches += len(ratios)
		}
	}
	if planned > 0 && !row.through {
		row.within = within(sides, row.Metric)
	}
	scatter, err := c.scatter(row, by, windows, planned)
	if err != nil {
		row.Why = err.Error()
		return
	}
	goal := c.goal
	goal.Family = q.Family
	row.forecast(scatter, goal, f)
}

// scatter is that of a window as planned: of those launches that had it, or by how the variance
// falls with the window.
func (c *caseData) scatter(row *Row, ratios map[float64][][]float64, windows []float64, planned float64) (stats.Scatter, error) {
	own, err := stats.ScatterOfRuns(ratios[planned])
	var all []stats.Windowed
	df, mean, weight := 1, 0.0, 0.0
	for _, w := range windows {
		if s, few := stats.ScatterOfRuns(ratios[w]); few == nil {
			all = append(all, stats.Windowed{Scatter: s, Window: w})
			df += s.N - 1
			mean, weight = mean+s.Mean*float64(s.N), weight+float64(s.N)
		}
	}
	by, few := BySeries, error(nil)
	var fit stats.Components
	if row.within > 0 {
		fit, few = stats.FitBetween(all, row.within)
	} else {
		by = ByWindows
		fit, few = stats.FitWindows(all)
	}
	if few != nil {
		if err != nil && len(all) > 0 {
			return own, fmt.Errorf("earlier launches were measured for %s, not for %g s as planned", seconds(windows), planned)
		}
		return own, err
	}
	row.split(fit, by, planned)
	if err != nil {
		own = stats.Scatter{Mean: mean / weight, SD: math.Sqrt(fit.Variance(planned)), N: df}
	}
	return own, nil
}

// within is the variance of a second of both sides together by their launches' series; 0 if one has
// none that suffices. Where a side counts as the mean of two launches, it varies half as much.
func within(sides [2][]*Scene, metric string) float64 {
	sum := 0.0
	for _, scenes := range sides {
		launches := float64(len(scenes)) / float64(len(sides[0]))
		var all [][]float64
		step := 0.0
		for _, s := range scenes {
			for _, l := range s.Launches {
				series, has := l.Series[metric]
				if has && (step == 0 || series.Step == step) { // others are of another version of the program
					step = series.Step
					all = append(all, series.Values)
				}
			}
		}
		v, err := stats.BlockAverage(all, step)
		if err != nil {
			return 0
		}
		sum += v / launches
	}
	return sum
}

func seconds(windows []float64) string {
	text := ""
	for i, w := range windows {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%g s", w)
	}
	return text
}

// split keeps the components, and says them of a window as planned.
func (r *Row) split(c stats.Components, by string, planned float64) {
	between, within := math.Sqrt(c.Between), math.Sqrt(c.Within/planned)
	r.components, r.Between, r.Within, r.By = &c, &between, &within, by
}

// forecast fills what follows from the scatter.
func (r *Row) forecast(s stats.Scatter, g stats.Goal, f *Forecast) {
	r.Ratio, r.SD = math.Exp(s.Mean), s.SD
	r.Narrow = counted(s.ToBeNarrow(g.Width, g.Usual))
	r.Ends = counted(s.ToEnd(g))
	if f.Most < stats.MinPairs {
		return // one block has no interval
	}
	r.Chance = s.Chance(g, f.Most)
	r.Reach = min(s.HalfWidth(f.Most, g.Usual), mostReach)
}

// mostReach bounds a half width, which may be beyond all numbers: a million times the ratio.
const mostReach = 1e6

func counted(n stats.Need) *Count { return &Count{n.N, n.Low, n.High} }

// Say says a count in words: "about 12 blocks (7 to 31)".
func (c *Count) Say() string {
	return result.Needed(stats.Need{N: c.Blocks, Low: c.Low, High: c.High}, "block")
}

// paired are the ratios of a metric in the blocks that both have.
func paired(own *Scene, against []*Scene, metric string, turns bool) ([]float64, error) {
	base := map[int][]float64{}
	if turns { // a value is a ratio to the baseline already
		for block := range own.values(metric) {
			base[block] = []float64{1}
		}
		against = nil
	}
	for _, s := range against {
		for block, v := range s.values(metric) {
			base[block] = append(base[block], v)
		}
	}
	pairs, err := stats.PairedRatios(own.values(metric), stats.Together(base))
	ratios := make([]float64, 0, len(pairs))
	for _, p := range pairs {
		ratios = append(ratios, p.Value)
	}
	return ratios, err
}

func (s *Scene) values(metric string) map[int]float64 {
	out := map[int]float64{}
	for _, l := range s.Launches {
		if v, ok := l.Values[metric]; ok {
			out[l.Block] = v
		}
	}
	return out
}

// fixed is the seconds of a launch besides its window: the median, since one that hung is not what
// another will cost.
func (s *Scene) fixed() float64 {
	var all []float64
	for _, l := range s.Launches {
		all = append(all, l.Took-l.Window)
	}
	return stats.Median(all)
}

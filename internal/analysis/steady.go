package analysis

import (
	"errors"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

const (
	// changeLevel is the share of launches in which a change may be seen where the order of the
	// steps is chance.
	changeLevel = 0.05
	// leastTolerance is the least change that counts where the plan has no margin.
	leastTolerance = 0.01
)

// tellSteadiness says in a platform's rows, among those of its case, how its work went within the
// windows. Where the launches are not steady all of them warn, since one window gave all their values.
func tellSteadiness(rows []result.Row, l *launches, margin float64) {
	if !l.scene.Kind.Sampled() || l.scene.Kind == bench.Ramped || len(l.done) == 0 {
		return
	}
	var own []*result.Row
	told, caveats := false, []string(nil)
	for i := range rows {
		row := &rows[i]
		if row.Platform != l.platform {
			continue
		}
		own = append(own, row)
		if s := steadiness(l.done, row.Metric.Name, max(margin, leastTolerance)); s != nil {
			row.Steadiness, told = s, true
			if c := s.Caveat(row.Metric.Name); c != "" {
				caveats = append(caveats, c)
			}
		}
	}
	for _, row := range own {
		if row.Metric.Headline && !told {
			row.Steadiness = &result.Steadiness{Finding: result.NoSeries}
		}
		row.Warnings = append(row.Warnings, caveats...)
	}
}

// steadiness is that of finished launches by the series of a metric; nil if none has one.
func steadiness(done []*bench.Outcome, metric string, tolerance float64) *result.Steadiness {
	var s *result.Steadiness
	for _, o := range done {
		series, ok := o.SeriesOf(metric)
		if !ok {
			continue
		}
		if s == nil {
			s = &result.Steadiness{}
		}
		c := course(series, tolerance)
		c.Trial, c.Block = o.Trial, o.Block
		s.Each = append(s.Each, c)
		switch c.Finding {
		case result.Steady:
			s.Steady++
		case result.Slowing:
			s.Slowing++
		case result.Speeding:
			s.Speeding++
		case result.Unsteady:
			s.Unsteady++
		}
		if c.Shift > s.Worst {
			s.Worst, s.WorstTrial = c.Shift, c.Trial
		}
	}
	if s != nil {
		s.Launches = s.Steady + s.Slowing + s.Speeding + s.Unsteady
		s.Finding = finding(s)
	}
	return s
}

// finding is a platform's by those of its launches. Launches that change both ways make it unsteady,
// unless nearly all of those that change go one way.
func finding(s *result.Steadiness) result.Finding {
	changed := s.Launches - s.Steady
	most := int((1 - result.SteadyShare) * float64(changed)) // that may go another way
	switch {
	case s.Launches == 0:
		return result.FewPoints
	case float64(s.Steady) >= result.SteadyShare*float64(s.Launches), stats.AtLeast(changed, s.Launches, changeLevel) > changeLevel*(1+1e-9):
		return result.Steady
	case changed-s.Slowing <= most:
		return result.Slowing
	case changed-s.Speeding <= most:
		return result.Speeding
	}
	return result.Unsteady
}

// course is how one launch went by its series. Rates are the better the higher.
func course(s bench.Series, tolerance float64) result.Course {
	c := result.Course{Points: len(s.Values), Step: s.Step}
	all, err := stats.Stretches(s.Values, changeLevel, tolerance)
	if errors.Is(err, stats.ErrFew) {
		c.Finding = result.FewPoints
		return c
	}
	if err != nil { // no value that is stored is without bounds
		c.Finding = result.NoSeries
		return c
	}
	up, down := false, false
	low, high := all[0].Mean, all[0].Mean
	for i, x := range all {
		c.Stretches = append(c.Stretches, result.Stretch{Start: float64(x.From) * s.Step, End: float64(x.To) * s.Step, Mean: x.Mean})
		if i > 0 {
			up, down = up || x.Mean > all[i-1].Mean, down || x.Mean < all[i-1].Mean
		}
		low, high = min(low, x.Mean), max(high, x.Mean)
	}
	if high > low {
		c.Shift = (high - low) / stats.Mean(s.Values)
	}
	switch {
	case up && down:
		c.Finding = result.Unsteady
	case up:
		c.Finding = result.Speeding
	case down:
		c.Finding = result.Slowing
	default:
		c.Finding = result.Steady
	}
	return c
}

package analysis

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/bench"
	"tare/internal/result"
)

// minBeyond is how many requests must lie beyond a percentile: below, it is
// where a handful of requests happened to fall. The standard deviation of their
// number is then a third of it.
const minBeyond = 10

var percentiles = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}

// curveStep is how many points of a curve there are for each nine.
const curveStep = 20

// launchHistogram is that of all subjects of one launch.
type launchHistogram struct {
	block int
	trial string
	h     bench.Histogram
}

// latencies are a case's, in the order of its histograms, of each the platforms.
// What a histogram does not tell is added to the case's rows.
func latencies(c *caseData, j *judge, rows []result.Row) []result.Latency {
	var all []result.Latency
	for _, name := range histograms(c.scenes) {
		tail := tails{judge: j, caseName: c.result.Name, compared: c.base != nil}
		if c.base != nil {
			tail.native, _ = launchHistograms(c.base.done, name)
			if c.control != nil {
				more, _ := launchHistograms(c.control.done, name)
				tail.native = append(tail.native, more...)
			}
		}
		for _, x := range c.scenes {
			own, why := launchHistograms(x.done, name)
			l := result.Latency{Histogram: name, Platform: x.platform, Label: x.label, Baseline: x == c.base, Why: why}
			fill(&l, own)
			for i := range l.Percentiles {
				p := &l.Percentiles[i]
				if points, short := ownPercentiles(own, p.Share); short == 0 {
					p.Points = points
				}
				if x != c.base {
					p.Effect = tail.effect(&l, p, own, c.audits[x])
				}
			}
			all = append(all, l)
			sayResolution(rows, &l, own)
		}
	}
	return all
}

// histograms are the names of those that any finished launch has, in order.
func histograms(scenes []*launches) []string {
	var names []string
	for _, l := range scenes {
		for _, o := range l.done {
			for _, a := range o.Actors {
				for _, h := range a.Histograms {
					if a.Role == bench.Subject && !slices.Contains(names, h.Name) {
						names = append(names, h.Name)
					}
				}
			}
		}
	}
	return names
}

// launchHistograms are those of finished launches, and why any is missing.
func launchHistograms(done []*bench.Outcome, name string) (out []launchHistogram, why string) {
	for _, o := range done {
		switch h, ok, err := o.HistogramOf(name); {
		case err != nil:
			why = fmt.Sprintf("trial %s: %v", o.Trial, err)
		case ok:
			out = append(out, launchHistogram{o.Block, o.Trial, h})
		}
	}
	if n := len(done) - len(out); n > 0 && why == "" {
		why = fmt.Sprintf("%d of %d finished launches have no histogram", n, len(done))
	}
	return out, why
}

// fill merges the launches and reads the percentiles off the result.
func fill(l *result.Latency, launches []launchHistogram) {
	if len(launches) == 0 {
		return
	}
	hs := make([]bench.Histogram, len(launches))
	for i := range launches {
		hs[i] = launches[i].h
	}
	h, err := bench.MergeHistograms(hs...)
	if err != nil {
		l.Why = err.Error()
		return
	}
	l.Launches, l.Requests, l.Grid = len(launches), h.Count(), h.Grid
	for _, p := range percentiles {
		q := h.Quantile(p.share)
		out := result.Percentile{Name: p.name, Share: p.share, Beyond: q.Beyond}
		if q.Beyond < minBeyond {
			out.Why = fmt.Sprintf("%d of %d requests lie beyond; at least %d are needed", q.Beyond, l.Requests, minBeyond)
		} else {
			out.Bounds = &result.Bounds{Low: q.Low, High: q.High}
		}
		l.Percentiles = append(l.Percentiles, out)
	}
	longest := h.Quantile(1)
	l.Max = &result.Bounds{Low: longest.Low, High: longest.High}
	for k := 1; ; k++ {
		share := 1 - math.Pow(10, -float64(k)/curveStep)
		q := h.Quantile(share)
		if q.Beyond < minBeyond {
			return
		}
		l.Curve = append(l.Curve, result.CurvePoint{Share: share, Low: q.Low, High: q.High})
	}
}

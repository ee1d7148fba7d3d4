package claims

import (
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/papers"
	"tare/internal/result"
)

// Plot is one metric of an exhibit, as the paper draws it.
type Plot struct {
	Metric bench.Metric `json:"metric"`
	// To is the platform that all values are relative to, where the paper's are: Values are ratios
	// then. "" where they are in the metric's unit.
	To string `json:"to,omitempty"`
	// Against says in which case, on the same platform, all values are relative to the platform's own,
	// where the paper's are.
	Against string `json:"against,omitempty"`
	// Factor is what the points of a curve differ in; "" where they are cases.
	Factor string   `json:"factor,omitempty"`
	Series []Series `json:"series"`
}

// Series is a platform's.
type Series struct {
	Platform string `json:"platform"` // the paper's name
	Ours     string `json:"ours,omitempty"`
	Label    string `json:"label,omitempty"`
	// Why nothing was measured.
	Why    string  `json:"why,omitempty"`
	Points []Point `json:"points,omitempty"`
}

// Point is a case of a series.
type Point struct {
	Case  string  `json:"case"`
	Title string  `json:"title"`
	X     float64 `json:"x,omitempty"` // the factor's level, where there is one
	// Level is X as the experiment spells it, and Line the rest of the case, without the factor:
	// points of one line are joined.
	Level string `json:"level,omitempty"`
	Line  string `json:"line,omitempty"`
	// Value is the geometric mean over blocks with its 95 % interval; N is 0 where nothing was measured.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	N     int     `json:"n"`
	// Base: others are relative to it.
	Base bool `json:"base,omitempty"`
	// Here is the geometric mean in the metric's unit, where Value is a ratio.
	Here float64 `json:"here,omitempty"`
	// Published are the paper's numbers in the same terms, and Absolute those in others: of its machine
	// in a unit, and ratios to something else.
	Published []papers.Published `json:"published,omitempty"`
	Absolute  []papers.Published `json:"absolute,omitempty"`
}

// plots are the exhibit's, of what was measured and what was published; none if neither is there.
func (j *judge) plots() (all []Plot) {
	for _, show := range j.exhibit.Shows {
		var at []place
		for _, scene := range show.Scenes {
			run, cases, _ := j.find(show.Experiment+":"+scene, "")
			for _, c := range cases {
				at = append(at, place{show.Experiment, run, c})
			}
		}
		for _, metric := range show.Metrics {
			if p, any := j.plot(at, metric); any {
				all = append(all, p)
			}
		}
	}
	return all
}

// place is where a case was measured.
type place struct {
	experiment string
	run        *Run
	*result.Case
}

func (j *judge) plot(at []place, metric string) (p Plot, any bool) {
	p.Metric = bench.Metric{Name: metric}
	alone := j.alone(metric, at)
	if alone != nil {
		p.Against = alone.Title
	} else {
		p.To = j.relativeTo(at)
	}
	p.Factor = curve(j.exhibit, at)
	for _, name := range j.exhibit.Platforms {
		s := Series{Platform: name, Why: "not measured"}
		for _, c := range at {
			point := Point{Case: c.Name, Title: c.Title}
			if level, ok := c.Factors[p.Factor]; ok {
				point.X, _ = bench.LevelNumber(level)
				point.Level, point.Line = level, without(c.Case, p.Factor)
			}
			if ours, label, ok := c.run.platform(j.paper.Ours(j.exhibit, name)); ok {
				s.Ours, s.Label, s.Why = ours, label, ""
				m, values := valuesOf(c, ours, metric)
				if m.Name != "" {
					p.Metric = m
				}
				point.Base = name == p.To || alone != nil && alone.Case == c.Case
				switch {
				case alone != nil && alone.run == c.run:
					_, base := valuesOf(*alone, ours, metric)
					point.measure(values, base, true)
				case alone != nil: // no block has both
				case p.To != "":
					to, _, _ := c.run.platform(j.paper.Ours(j.exhibit, p.To))
					_, base := valuesOf(c, to, metric)
					point.measure(values, base, true)
				default:
					point.measure(values, nil, false)
				}
			}
			j.publish(&p, &point, name, metric, c, alone)
			any = any || point.N > 0 || len(point.Published) > 0 || len(point.Absolute) > 0
			s.Points = append(s.Points, point)
		}
		if len(at) == 0 {
			for _, q := range j.exhibit.Published {
				if q.Of == name && q.Metric == metric {
					point := Point{Case: q.In, Title: q.In}
					if q.IsRatio() && q.Against == "" {
						point.Published = []papers.Published{q}
					} else {
						point.Absolute = []papers.Published{q}
					}
					s.Points, any = append(s.Points, point), true
				}
			}
		}
		p.Series = append(p.Series, s)
	}
	return p, any
}

// relativeTo is the platform that the exhibit's published ratios and claims are most about being
// relative to, so that all of its metrics have one axis; "" if they are not, or if others were measured
// and it was not.
func (j *judge) relativeTo(at []place) string {
	count := map[string]int{}
	for _, q := range j.exhibit.Published {
		if q.IsRatio() && q.To != "" {
			count[q.To]++
		}
	}
	for _, c := range j.exhibit.Claims {
		if len(c.To) == 1 && len(c.Against) == 0 {
			count[c.To[0]]++
		}
	}
	to := ""
	for _, name := range j.exhibit.Platforms {
		if count[name] > count[to] || to == "" && count[name] > 0 {
			to = name
		}
	}
	for _, c := range at {
		if _, _, ok := c.run.platform(j.paper.Ours(j.exhibit, to)); ok {
			return to
		}
	}
	if len(at) > 0 {
		return ""
	}
	return to
}

// alone is the one case that all others are set against by most claims on the metric; nil without.
func (j *judge) alone(metric string, at []place) *place {
	if j.exhibit.Drawn == papers.Curves {
		return nil
	}
	var names, set []string
	others := 0
	for _, c := range j.exhibit.Claims {
		switch {
		case c.Metric != metric || c.Slope():
		case len(c.Against) > 0:
			names, set = append(names, c.Against...), append(set, c.In...)
		case len(c.To) > 0:
			others++
		}
	}
	if len(set) <= others {
		return nil
	}
	if found := theOne(at, names, set); found != nil {
		n := 0
		for _, c := range at {
			if slices.ContainsFunc(set, c.named) {
				n++
			}
		}
		if 2*n < len(at)-1 { // claims on a few of many cases
			return nil
		}
		return found
	}
	// The same scenes of another experiment than the claims name.
	rest := func(names []string) []string {
		var all []string
		for _, name := range names {
			all = append(all, name[strings.IndexByte(name, ':')+1:])
		}
		return all
	}
	return theOne(at, rest(names), rest(set))
}

// theOne is the only place that is named, if it is not among the others; nil without.
func theOne(at []place, names, others []string) (found *place) {
	for i := range at {
		c := &at[i]
		if !slices.ContainsFunc(names, c.named) {
			continue
		}
		if found != nil || slices.ContainsFunc(others, c.named) {
			return nil
		}
		found = c
	}
	return found
}

// named says whether a name is the case's or its scene's, with or without the experiment.
func (c place) named(name string) bool {
	if experiment, rest, ok := strings.Cut(name, ":"); ok {
		if experiment != c.experiment {
			return false
		}
		name = rest
	}
	scene, _, _ := strings.Cut(c.Name, "[")
	return name == c.Name || name == scene
}

// curve is the factor with numbers for levels in which the cases of a curve differ; "" without.
func curve(x *papers.Exhibit, cases []place) string {
	if x.Drawn != papers.Curves {
		return ""
	}
	for _, c := range cases {
		for _, factor := range slices.Sorted(maps.Keys(c.Factors)) {
			level := c.Factors[factor]
			_, number := bench.LevelNumber(level)
			if number && slices.ContainsFunc(cases, func(o place) bool { return o.Factors[factor] != level }) {
				return factor
			}
		}
	}
	return ""
}

// without is a case's scene with the levels of its factors but one: "fio, rw randread".
func without(c *result.Case, factor string) string {
	name, _, _ := strings.Cut(c.Name, "[")
	for _, other := range slices.Sorted(maps.Keys(c.Factors)) {
		if other != factor {
			name += ", " + bench.FactorWords(other) + " " + c.Factors[other]
		}
	}
	return name
}

// valuesOf are a platform's values of a metric in a case by block, and the metric.
func valuesOf(c place, ours, metric string) (bench.Metric, map[int]float64) {
	points, m, _, why := c.run.values(c.Case, ours, metric)
	values := map[int]float64{}
	if why == "" {
		for _, q := range points {
			values[q.Block] = q.Value
		}
	}
	return m, values
}

// measure fills in what was measured: values by block or, if it is relative, their ratios to the base.
func (q *Point) measure(values, base map[int]float64, relative bool) {
	var all []float64
	here, n := 0.0, 0 // of logarithms
	for _, block := range sortedBlocks(values) {
		v := values[block]
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		here, n = here+math.Log(v), n+1
		if relative {
			v /= base[block]
		}
		if v > 0 && !math.IsInf(v, 0) {
			all = append(all, v)
		}
	}
	if relative && n > 0 {
		q.Here = math.Exp(here / float64(n))
	}
	if len(all) == 0 {
		return
	}
	q.N, q.Value, q.Low, q.High = len(all), all[0], all[0], all[0]
	if i, err := stats.RatioInterval(all, 1-significance); err == nil {
		q.Value, q.Low, q.High = i.Mid, i.Low, i.High
	}
}

// publish fills in what the paper says of the point, of a ratio without a published number the sizes
// that its claims have.
func (j *judge) publish(p *Plot, into *Point, name, metric string, c place, alone *place) {
	for _, q := range j.exhibit.Published {
		switch {
		case q.Of != name || q.Metric != metric || !c.named(q.In):
		case q.IsRatio() && q.Against == "" && p.To == q.To && alone == nil, q.Against != "" && alone != nil && alone.named(q.Against):
			into.Published = append(into.Published, q)
		default:
			into.Absolute = append(into.Absolute, q)
		}
	}
	if len(into.Published) > 0 || into.Base {
		return
	}
	for i := range j.exhibit.Claims {
		claim := &j.exhibit.Claims[i]
		if claim.Metric != metric || claim.Slope() || claim.For == papers.ForMean || !slices.ContainsFunc(claim.In, c.named) {
			continue
		}
		if (p.Against == "") != (len(claim.Against) == 0) || p.To == "" && p.Against == "" {
			continue
		}
		for _, pair := range claim.Pairs(j.exhibit.Platforms) {
			if pair[0] != name || pair[1] != p.To {
				continue
			}
			for _, size := range claim.Size {
				into.Published = append(into.Published, papers.Published{Of: name, To: p.To, In: c.Name, Metric: metric, Value: size})
			}
		}
		if len(into.Published) > 0 {
			return
		}
	}
}

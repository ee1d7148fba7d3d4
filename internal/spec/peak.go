package spec

import (
	"slices"
	"time"

	"tare/internal/bench"
)

var peakKeys = []string{"latency", "errors", "short"}

// peak reads the key: the bound of latency, or a mapping.
func (d *decoder) peak(n *node, s *Scene) {
	if n == nil {
		return
	}
	s.Places["peak"] = n.place
	before := len(d.errs)
	p := bench.Peak{Errors: 0.01, Short: 0.02}
	if n.kind == scalar {
		d.duration(n, time.Microsecond, &p.Bound)
	} else {
		f := d.fields(n, "peak", peakKeys)
		if f["latency"] == nil {
			d.fail(n.place, "peak needs a bound of latency%w", bench.Hint("say latency: 100ms"))
			return
		}
		d.duration(f["latency"], time.Microsecond, &p.Bound)
		d.percent(f["errors"], &p.Errors)
		d.percent(f["short"], &p.Short)
	}
	if len(d.errs) > before || unreadWork(s.Actors) {
		return
	}
	var of bench.OpenLoop
	if len(s.Actors) > 0 && s.Actors[0].Workload != "" {
		of, _ = d.words.Workload(s.Actors[0].Workload).(bench.OpenLoop)
	}
	if of != nil {
		p.Loop = of.Loop(s.Actors[0].Params)
	}
	if p.Loop.Rate == "" {
		d.fail(n.place, "peak: the subject is not asked at a rate%w", bench.Hint("take workload: web with params: {client: httperf}"))
		return
	}
	if !slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.Name == p.Loop.Rate }) {
		d.fail(n.place, "peak: %s does not vary%w", p.Loop.Rate, bench.Hint("such as vary: {"+p.Loop.Rate+": [500, 1000, 2000, 4000]}"))
		return
	}
	s.Peak = &p
}

package overhead

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/result"
)

// energies fills a case's energy rows: the meters in their order, of each the platforms.
func (s *study) energies(c *result.Case, scenes []*bench.Scene, base *bench.Scene, audits map[*bench.Scene]*audit.Audit, p *powers) {
	for _, src := range s.run.Header().Power {
		var native *result.Energy
		if base != nil {
			e := s.energy(c, base, src, p)
			native = &e
		}
		for _, sc := range scenes {
			e := s.energy(c, sc, src, p)
			if sc == base {
				e.Baseline = true
			} else {
				e.Effect = s.powerEffect(&e, native, src, c.Name, audits[sc])
			}
			c.Energy = append(c.Energy, e)
		}
	}
}

// energy gathers the launches of a scene by one meter.
func (s *study) energy(c *result.Case, sc *bench.Scene, src bench.PowerSource, p *powers) result.Energy {
	name := sc.Platform.String()
	e := result.Energy{Meter: src.Name, Platform: name, Label: s.labels[name], Modelled: src.Modelled, Points: []result.Point{}}
	metric, unit := workOf(c, s.plan.Metrics[c.Name])
	var net, netJoules, perUnit, netPerUnit []float64
	lacks := map[string]int{}
	for _, o := range s.done(sc.ID) {
		d, ok := p.drawn[o.Trial][src.Name]
		if !ok {
			continue
		}
		if d.why != "" {
			lacks[d.why]++
			continue
		}
		e.Points = append(e.Points, result.Point{Block: o.Block, Trial: o.Trial, Value: d.watts})
		e.Watts += d.watts
		e.Joules += d.watts * d.seconds
		e.Bound = max(e.Bound, d.bound)
		rest, rested := p.rests[src.Name][o.Block]
		above := d.watts - rest.Watts
		if rested {
			net = append(net, above)
			netJoules = append(netJoules, above*d.seconds)
			e.NetBound = max(e.NetBound, d.bound+rest.Bound)
		}
		rate := valueOf(o, metric)
		if c.Kind == bench.Startup {
			rate = 1 / d.seconds
		}
		if unit != "" && rate > 0 {
			perUnit = append(perUnit, d.watts/rate)
			if rested {
				netPerUnit = append(netPerUnit, above/rate)
			}
		}
	}
	if e.N = len(e.Points); e.N > 0 {
		e.Watts /= float64(e.N)
		e.Joules /= float64(e.N)
	}
	e.NetWatts, e.NetJoules = meanOf(net), meanOf(netJoules)
	if e.PerUnit, e.NetPerUnit = meanOf(perUnit), meanOf(netPerUnit); e.PerUnit != nil {
		e.Unit = unit
	}
	for _, why := range sorted(lacks) {
		e.Notes = append(e.Notes, fmt.Sprintf("the power of %d of %d launches is not known: %s", lacks[why], len(s.done(sc.ID)), why))
	}
	if n := len(net); n > 0 && n < e.N {
		e.Notes = append(e.Notes, fmt.Sprintf("above rest are %d of %d launches: the power at rest around the others is not known", n, e.N))
	}
	if e.NetWatts != nil && math.Abs(*e.NetWatts) <= e.NetBound {
		e.Notes = append(e.Notes, fmt.Sprintf("the %.3g W above rest are no more than the meter may be off by, %.3g W", *e.NetWatts, e.NetBound))
	}
	return e
}

// workOf is the metric that counts work in a case and the name of one piece of
// it; no name where nothing is counted.
func workOf(c *result.Case, metrics []bench.Metric) (metric, unit string) {
	if c.Kind == bench.Startup {
		return "", "launch"
	}
	for _, m := range metrics {
		if !m.Headline {
			continue
		}
		if m.Unit == "IOPS" {
			return m.Name, "operation"
		}
		if of, ok := strings.CutSuffix(m.Unit, "/s"); ok {
			if plural, ok := strings.CutSuffix(of, "s"); ok && len(plural) > 2 {
				of = plural
			}
			return m.Name, of
		}
	}
	return "", ""
}

func valueOf(o *bench.Outcome, metric string) float64 {
	for _, v := range o.Values {
		if v.Metric == metric {
			return v.Value
		}
	}
	return 0
}

func meanOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	sum /= float64(len(x))
	return &sum
}

func sorted(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

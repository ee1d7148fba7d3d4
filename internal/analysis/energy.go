package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// energies are a case's energy rows: the meters in their order, of each the platforms.
func energies(c *caseData, j *judge, meters []bench.PowerSource, p *powers) []result.Energy {
	var rows []result.Energy
	work := workOf(c.result.Kind, c.metrics)
	for _, src := range meters {
		var native *result.Energy
		if c.base != nil {
			e := energyOf(c.base, src, p, work)
			native = &e
		}
		for _, l := range c.scenes {
			e := energyOf(l, src, p, work)
			if l == c.base {
				e.Baseline = true
			} else {
				e.Effect = powerEffect(j, &e, native, src, c.result.Name, c.audits[l])
			}
			rows = append(rows, e)
		}
	}
	return rows
}

// energyOf is what launches drew by one meter.
func energyOf(l *launches, src bench.PowerSource, p *powers, w work) result.Energy {
	e := result.Energy{Meter: src.Name, Platform: l.platform, Label: l.label, Modelled: src.Modelled, Points: []result.Point{}}
	var net, netJoules, perUnit, netPerUnit []float64
	lacks := map[string]int{}
	for _, o := range l.done {
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
		rest, rested := p.idles[src.Name][o.Block]
		above := d.watts - rest.Watts
		if rested {
			net = append(net, above)
			netJoules = append(netJoules, above*d.seconds)
			e.NetBound = max(e.NetBound, d.bound+rest.Bound)
		}
		if rate := w.rate(o, d.seconds); w.unit != "" && rate > 0 {
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
		e.Unit = w.unit
	}
	for _, why := range sorted(lacks) {
		e.Notes = append(e.Notes, fmt.Sprintf("the power of %d of %d launches is not known: %s", lacks[why], len(l.done), why))
	}
	if n := len(net); n > 0 && n < e.N {
		e.Notes = append(e.Notes, fmt.Sprintf("above rest are %d of %d launches: the power at rest around the others is not known", n, e.N))
	}
	if e.NetWatts != nil && math.Abs(*e.NetWatts) <= e.NetBound {
		e.Notes = append(e.Notes, fmt.Sprintf("the %s W above rest are no more than the meter may be off by, %s W", figure.Digits(*e.NetWatts, 3), figure.Digits(e.NetBound, 3)))
	}
	return e
}

// work is how work is counted in a case: by a metric or, without one, by launches.
type work struct {
	metric string
	unit   string // the name of one piece of it; "" where nothing is counted
}

// workOf is how work is counted in a case of the kind with the metrics.
func workOf(kind bench.SceneKind, metrics []bench.Metric) work {
	if kind == bench.Startup {
		return work{unit: "launch"}
	}
	for _, m := range metrics {
		if !m.Headline {
			continue
		}
		if m.Unit == "IOPS" {
			return work{m.Name, "operation"}
		}
		if of, ok := strings.CutSuffix(m.Unit, "/s"); ok {
			if plural, ok := strings.CutSuffix(of, "s"); ok && len(plural) > 2 {
				of = plural
			}
			return work{m.Name, of}
		}
	}
	return work{}
}

// rate is how many pieces a launch did in a second; 0 if that is not known.
func (w work) rate(o *bench.Outcome, seconds float64) float64 {
	if w.metric == "" {
		return 1 / seconds
	}
	for _, v := range o.Values {
		if v.Metric == w.metric {
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

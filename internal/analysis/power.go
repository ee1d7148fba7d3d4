package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/result"
)

// powerTable is made of what the meters told of the run as a whole.
type powerTable struct {
	plan     *bench.Plan
	trials   []launch
	observed *observed
	cases    []result.Case
}

// of says what a meter told.
func (t *powerTable) of(src bench.PowerSource) result.Power {
	p := t.observed.powers
	w := result.Power{Meter: src.Name, Of: src.Of, Part: src.Part, Modelled: src.Modelled, StepW: src.StepW, StepJ: src.StepJ, Update: src.Update}
	var rest []float64
	for block := 1; block <= t.plan.Blocks; block++ {
		if r, ok := p.idles[src.Name][block]; ok {
			w.Idles = append(w.Idles, r)
			rest = append(rest, r.Watts)
		}
	}
	if w.Idle = meanOf(rest); w.Idle == nil {
		w.Notes = append(w.Notes, "the power at rest is not known, so nothing is given above it: no share of a resource, no energy proportionality")
	}
	if src.Part {
		w.Notes = append(w.Notes, "this is a part of the machine: fans, disks, power supply and the rest are not in it")
	}
	if n := len(p.noIdle); n > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("the machine was not at rest when it should have been: other work kept up to %.2f cores busy; %d of %d stretches are left out",
			slices.Max(slices.Collect(maps.Values(p.noIdle))), n, len(t.plan.Idles())))
	}
	if src.StepW == 0 && src.StepJ == 0 {
		w.Notes = append(w.Notes, "the meter's steps are not known, so intervals do not hold them")
	}
	if !src.Modelled {
		w.Fit = t.fit(src.Name)
	}
	if w.Idle != nil {
		w.Shares = t.shares(src.Name)
		w.Curves = t.curves(src.Name, *w.Idle)
		w.Curves = slices.DeleteFunc(w.Curves, func(c result.PowerCurve) bool {
			spread := c.Points[len(c.Points)-1].Cores - c.Points[0].Cores
			if spread < leastSpread {
				w.Notes = append(w.Notes, fmt.Sprintf("the loads of %s on %s differ by %.2f busy cores only: no curve is drawn", c.Name, c.Platform, spread))
			}
			return spread < leastSpread
		})
	}
	return w
}

// leastSpread is by how many cores the loads must differ at least for a line
// through them to mean something.
const leastSpread = 0.25

// leastExplained is the share of the scatter of power that the line must explain.
const leastExplained = 0.8

// fit is the least-squares line through power over the host's busy cores.
func (t *powerTable) fit(meter string) *result.PowerFit {
	p := t.observed.powers
	var x, y []float64
	for _, l := range t.trials {
		d, ok := p.drawn[l.ID][meter]
		u := t.observed.usage[l.ID]
		if !ok || d.why != "" || u == nil {
			continue
		}
		if busy := u.BusyCPU; busy.Known {
			x, y = append(x, busy.Value), append(y, d.watts)
		}
	}
	for _, r := range t.plan.Idles() {
		rest, ok := p.idles[meter][r.Block]
		busy, known := p.busy[r.ID]
		watts := rest.Before
		if r.ID == bench.IdleID(r.Block, 2) {
			watts = rest.After
		}
		if ok && known && watts != nil {
			x, y = append(x, busy), append(y, *watts)
		}
	}
	return fitLine(x, y)
}

func fitLine(x, y []float64) *result.PowerFit {
	n := float64(len(x))
	if len(x) < 6 || slices.Max(x)-slices.Min(x) < leastSpread {
		return nil
	}
	mx, my := *meanOf(x), *meanOf(y)
	var sxx, sxy, syy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
		syy += (y[i] - my) * (y[i] - my)
	}
	if sxy <= 0 || sxy*sxy < leastExplained*sxx*syy {
		return nil
	}
	f := &result.PowerFit{Core: sxy / sxx, Points: len(x)}
	f.Idle = my - f.Core*mx
	var ss float64
	for i := range x {
		d := y[i] - f.Idle - f.Core*x[i]
		ss += d * d
	}
	f.Residual = math.Sqrt(ss / n)
	return f
}

// shares finds, for each resource, the case of the baseline that adds the most.
func (t *powerTable) shares(meter string) []result.PowerShare {
	var shares []result.PowerShare
	for _, resource := range []string{"cpu", "memory", "disk", "network"} {
		var most *result.PowerShare
		for _, c := range t.cases {
			if c.Resource != resource {
				continue
			}
			for _, e := range c.Energy {
				if e.Meter != meter || !e.Baseline || e.NetWatts == nil || e.N == 0 || e.Watts <= 0 {
					continue
				}
				if most == nil || *e.NetWatts > most.Net {
					most = &result.PowerShare{Resource: resource, Case: c.Name, Net: *e.NetWatts, Bound: e.NetBound, Share: *e.NetWatts / e.Watts}
				}
			}
		}
		if most != nil {
			shares = append(shares, *most)
		}
	}
	return shares
}

// curves are made of the cases of one scene that differ in their factors'
// levels, from three loads on.
func (t *powerTable) curves(meter string, rest float64) []result.PowerCurve {
	var curves []result.PowerCurve
	at := map[[2]string]int{}
	for _, c := range t.cases {
		if c.Kind == bench.Startup || len(c.Factors) == 0 {
			continue
		}
		name, _, _ := strings.Cut(c.Name, "[")
		for _, e := range c.Energy {
			u := usageFor(&c, e.Platform)
			if e.Meter != meter || e.N == 0 || u == nil || !u.BusyCPU.Known {
				continue
			}
			key := [2]string{name, e.Platform}
			if _, ok := at[key]; !ok {
				at[key] = len(curves)
				curves = append(curves, result.PowerCurve{Name: name, Platform: e.Platform})
			}
			k := &curves[at[key]]
			k.Points = append(k.Points, result.PowerPoint{Case: c.Name, Cores: u.BusyCPU.Value, Watts: e.Watts})
		}
	}
	var idle []float64
	for _, busy := range t.observed.powers.busy {
		idle = append(idle, busy)
	}
	atRest := result.PowerPoint{Watts: rest}
	if m := meanOf(idle); m != nil {
		atRest.Cores = *m
	}
	curves = slices.DeleteFunc(curves, func(c result.PowerCurve) bool { return len(c.Points) < 3 })
	for i := range curves {
		curves[i].Points = append([]result.PowerPoint{atRest}, curves[i].Points...)
		scale(&curves[i], rest)
	}
	return curves
}

func usageFor(c *result.Case, platform string) *result.Usage {
	i := slices.IndexFunc(c.Usage, func(u result.Usage) bool { return u.Platform == platform })
	if i < 0 {
		return nil
	}
	return &c.Usage[i]
}

// scale sets every point against the highest, and finds the area below them.
func scale(c *result.PowerCurve, rest float64) {
	slices.SortStableFunc(c.Points, func(a, b result.PowerPoint) int { return cmp.Compare(a.Cores, b.Cores) })
	peak, most := 0.0, 0.0
	for _, p := range c.Points {
		peak, most = max(peak, p.Watts), max(most, p.Cores)
	}
	for i := range c.Points {
		p := &c.Points[i]
		if peak > 0 {
			p.OfPeak = p.Watts / peak
		}
		if peak > rest {
			p.OfDynamic = (p.Watts - rest) / (peak - rest)
		}
	}
	if most <= 0 {
		return
	}
	// From no load to the lowest the power is taken to be that of the lowest.
	area := c.Points[0].OfPeak * c.Points[0].Cores / most
	for i := 1; i < len(c.Points); i++ {
		a, b := c.Points[i-1], c.Points[i]
		area += (a.OfPeak + b.OfPeak) / 2 * (b.Cores - a.Cores) / most
	}
	c.Proportionality = 2 - 2*area
}

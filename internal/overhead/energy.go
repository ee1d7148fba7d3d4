package overhead

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/stats"
)

// powerMetric is what equation 2 compares.
var powerMetric = bench.Metric{Name: "power", Unit: "W", Better: bench.LowerIsBetter, Combine: bench.Mean,
	Doc: "mean power the machine draws while the case runs"}

// powers are the windows' power by trial and meter, and the power at rest by
// meter and block.
type powers struct {
	drawn map[string]map[string]meanPower
	rests map[string]map[int]RestPower
	// Cores of the host that were busy in the stretches of rest, by trial: in
	// those that are a rest, and in those that are none.
	busy, restless map[string]float64
}

// drawPower works out what every meter told of a window.
func drawPower(sources []bench.PowerSource, readings map[string][]powerReading, window [2]int64) map[string]meanPower {
	out := map[string]meanPower{}
	for _, src := range sources {
		out[src.Name] = draw(readings[src.Name], src, window)
	}
	return out
}

// rest reads the stretches of rest.
func (s *study) rest(p *powers) {
	sources := s.run.Header().Power
	found := map[string][2]map[string]meanPower{} // by block
	for _, t := range s.plan.Rests() {
		out := s.last[t.ID]
		if out == nil {
			continue
		}
		if out.Status != bench.Done {
			s.warn("the machine's power at rest, %s, is not known: %s", t.ID, out.Error)
			continue
		}
		readings := map[string][]powerReading{}
		host := &track{}
		err := s.run.Samples(t.ID, func(x *bench.Sample) error {
			switch {
			case x.Level == bench.Power:
				readings[x.Meter] = append(readings[x.Meter], newPowerReading(x))
			case x.Level == bench.Host && x.Meter == hostProc.meter && x.At >= out.Window[0] && x.At <= out.Window[1]:
				host.add(x)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.warn("the machine's power at rest, %s, is not known: %v", t.ID, err)
			continue
		}
		if busy, lack := host.rate(bench.ColCPUBusy, out.Window); lack == "" {
			if busy > quietRest {
				p.restless[t.ID] = busy
				continue
			}
			p.busy[t.ID] = busy
		}
		key := fmt.Sprint(t.Block)
		pair := found[key]
		pair[boolToInt(t.ID == bench.RestID(t.Block, 2))] = drawPower(sources, readings, out.Window)
		found[key] = pair
	}
	for _, src := range sources {
		p.rests[src.Name] = map[int]RestPower{}
		for block := 1; block <= s.plan.Blocks; block++ {
			pair := found[fmt.Sprint(block)]
			if r, ok := restOf(block, pair[0][src.Name], pair[1][src.Name]); ok {
				p.rests[src.Name][block] = r
			}
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// restOf joins what was drawn before and after a block's trials, as far as known.
func restOf(block int, before, after meanPower) (RestPower, bool) {
	r := RestPower{Block: block}
	n := 0.0
	for _, side := range []struct {
		meanPower
		into **float64
	}{{before, &r.Before}, {after, &r.After}} {
		if side.why != "" || side.seconds == 0 {
			continue
		}
		w := side.watts
		*side.into = &w
		r.Watts += w
		r.Bound = max(r.Bound, side.bound)
		n++
	}
	if n == 0 {
		return r, false
	}
	r.Watts /= n
	if r.Before != nil && r.After != nil {
		r.Bound += math.Abs(*r.After-*r.Before) / 2
	}
	return r, true
}

// energies fills a case's energy rows: the meters in their order, of each the platforms.
func (s *study) energies(c *Case, scenes []*bench.Scene, base *bench.Scene, audits map[*bench.Scene]*audit.Audit, p *powers) {
	for _, src := range s.run.Header().Power {
		var native *Energy
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
func (s *study) energy(c *Case, sc *bench.Scene, src bench.PowerSource, p *powers) Energy {
	name := sc.Platform.String()
	e := Energy{Meter: src.Name, Platform: name, Label: s.labels[name], Modelled: src.Modelled, Points: []Point{}}
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
		e.Points = append(e.Points, Point{o.Block, o.Trial, d.watts})
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
func workOf(c *Case, metrics []bench.Metric) (metric, unit string) {
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

// powerEffect is equation 2 with an interval that holds what the meter cannot
// tell: its steps do not average out over launches, so each side may be off by
// its bound in all of them alike.
func (s *study) powerEffect(e, native *Energy, src bench.PowerSource, caseName string, fair *audit.Audit) *Effect {
	x := &Effect{Verdict: Refused, Ratios: []Point{}, Caution: s.caution(e.Platform)}
	finish := func() *Effect {
		x.judge(fair, s.options.AllowUnfair)
		x.Words = words(x, powerMetric, s.plan.Margin)
		return x
	}
	if src.Modelled {
		x.Why = "modelled from CPU time, not measured"
		x.Words = words(x, powerMetric, s.plan.Margin)
		return x
	}
	if native == nil {
		x.Why = fmt.Sprintf("the baseline, %s, has no part in this case", s.plan.Baseline)
		return finish()
	}
	trials := map[int]string{}
	value, base := map[int]float64{}, map[int]float64{}
	for _, p := range e.Points {
		value[p.Block], trials[p.Block] = p.Value, p.Trial
	}
	for _, p := range native.Points {
		base[p.Block] = p.Value
	}
	level, planned := s.level(caseName, e.Platform)
	ratios, interval, _, err := compare(value, base, level, s.plan.Margin)
	for _, r := range ratios {
		x.Ratios = append(x.Ratios, Point{r.Block, trials[r.Block], r.Value})
	}
	x.N = len(ratios)
	difference, tells := math.Abs(e.Watts-native.Watts), e.Bound+native.Bound
	below := fmt.Sprintf("the difference of %.3g W is below what the meter tells apart, %.3g W", difference, tells)
	switch {
	case errors.Is(err, stats.ErrFew):
		x.Why = fmt.Sprintf("%s in which the power of both is known; an interval needs at least %d", blocks(x.N), stats.MinPairs)
		if mid, err := stats.GeoMean(numbers(ratios)); err == nil {
			x.set(mid, powerMetric.Better)
			if difference < tells {
				x.Why += "; " + below
			}
		}
	case err != nil:
		x.Why = err.Error()
	case e.Bound >= e.Watts || native.Bound >= native.Watts:
		x.Why = fmt.Sprintf("the meter may be off by all it shows: by %.3g of %.3g W", max(e.Bound, native.Bound), min(e.Watts, native.Watts))
	default:
		x.set(interval.Mid, powerMetric.Better)
		interval.Low *= (1 - e.Bound/e.Watts) / (1 + native.Bound/native.Watts)
		interval.High *= (1 + e.Bound/e.Watts) / (1 - native.Bound/native.Watts)
		x.Low, x.High, x.Confidence = interval.Low, interval.High, level
		x.Verdict = verdict(interval, s.plan.Margin)
		x.Why = doubt(x, planned)
		if difference < tells {
			if x.Verdict == Differs {
				x.Verdict = Inconclusive
			}
			x.Why = strings.TrimPrefix(x.Why+"; "+below, "; ")
		}
	}
	return finish()
}

// powerAnswer is a case in which nothing but power was measured in one sentence,
// by the first meter.
func powerAnswer(c *Case) string {
	var said []string
	for _, e := range c.Energy {
		if e.Meter != c.Energy[0].Meter {
			continue
		}
		text := e.Platform + ": power not known"
		if e.N > 0 {
			text = fmt.Sprintf("%s: %s", e.Platform, amount(e.Watts, "W"))
		}
		if e.Modelled {
			text += " [modelled]"
		} else if e.Effect != nil {
			text += ", " + e.Effect.Words
		}
		said = append(said, text)
	}
	return "Power: " + strings.Join(said, "; ") + "."
}

// PowerRows are the powers of the case's single launches, as rows for exports
// that have a line for each launch; the metric names the meter, and says if it
// is a model.
func (c *Case) PowerRows() []Row {
	var rows []Row
	for i := range c.Energy {
		e := &c.Energy[i]
		if e.N == 0 {
			continue
		}
		m := powerMetric
		m.Name = "power by " + e.Meter
		if e.Modelled {
			m.Name = "modelled " + m.Name
		}
		rows = append(rows, Row{Metric: m, Platform: e.Platform, Label: e.Label, Baseline: e.Baseline, Points: e.Points,
			Median: stats.Median(values(e.Points)), N: e.N, Effect: e.Effect})
	}
	return rows
}

package selftest

import (
	"cmp"
	"slices"

	"tare/internal/analysis/effect"
	"tare/internal/bench"
)

// MeterRow is what the readings of one source cost.
type MeterRow struct {
	Platform string      `json:"platform"`
	Level    bench.Level `json:"level"`
	Meter    string      `json:"meter"`
	Readings int         `json:"readings"`
	// Each is the CPU time of a reading in microseconds. Of the agent it is all
	// it used from one reading to the next.
	Each float64 `json:"each_us"`
	// Percent is that of a core at one reading a second, of one instance.
	Percent float64 `json:"percent"`
}

// watch gathers what observing cost.
type watch struct {
	rows  map[meterKey]*spending
	runs  map[string][]launch // by platform
	order []string
}

type meterKey struct {
	platform string
	level    bench.Level
	meter    string
}

// spending is CPU time of readings.
type spending struct {
	ns       int64
	readings int
	seconds  float64 // that they span
}

// launch is what one trial's observers used, in cores.
type launch struct {
	block, instances              int
	tare, agents, daemons         float64
	pidstat, dockerStats          float64
	known, daemonsKnown, hasTools bool
}

func newWatch() *watch { return &watch{rows: map[meterKey]*spending{}, runs: map[string][]launch{}} }

// column is one of a source's.
type column struct {
	level               bench.Level
	actor, meter, named string
}

// span is a column's first and last reading of the window.
type span struct {
	first, last float64
	from, to    int64
}

// rate is its growth per second; false if it was not read twice.
func (s *span) rate() (float64, bool) {
	if s == nil || s.to <= s.from {
		return 0, false
	}
	return (s.last - s.first) / (float64(s.to-s.from) / 1e9), true
}

// add reads a trial.
func (w *watch) add(s *bench.Scene, o *bench.Outcome, samples SamplesOf) error {
	platform := s.Platform.String()
	if !slices.Contains(w.order, platform) {
		w.order = append(w.order, platform)
	}
	spans := map[column]*span{}
	last := map[column]int64{} // of a source, under no column
	err := samples(o.Trial, func(x *bench.Sample) error {
		// The edges are left out: near them commands are started and ended.
		if x.At <= o.Window[0] || x.At >= o.Window[1] {
			return nil
		}
		src := column{x.Level, x.Actor, x.Meter, ""}
		if before, ok := last[src]; ok {
			row := w.row(meterKey{platform, x.Level, x.Meter})
			row.ns += x.CPU
			row.readings++
			row.seconds += float64(x.At-before) / 1e9
		}
		last[src] = x.At
		for name, v := range x.Values {
			src.named = name
			if spans[src] == nil {
				spans[src] = &span{first: v, from: x.At + x.Late}
			}
			spans[src].last, spans[src].to = v, x.At+x.Late
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.Case == WatchCase {
		w.runs[platform] = append(w.runs[platform], launchOf(o, spans))
	}
	return nil
}

func (w *watch) row(key meterKey) *spending {
	if w.rows[key] == nil {
		w.rows[key] = &spending{}
	}
	return w.rows[key]
}

// launchOf sums up what the observers used between the window's first whole
// second and its last.
func launchOf(o *bench.Outcome, spans map[column]*span) launch {
	l := launch{block: o.Block, known: true}
	get := func(level bench.Level, actor, meter, name string) (float64, bool) {
		return spans[column{level, actor, meter, name}].rate()
	}
	var ok bool
	l.tare, ok = get(bench.Host, "", "tasks", bench.ColObserver)
	l.known = l.known && ok
	l.daemonsKnown = true
	for i, a := range o.Actors {
		l.instances++
		v, ok := get(bench.Guest, a.Actor, "agent", bench.ColObserver)
		l.agents += v
		l.known = l.known && ok
		if a.Scope == nil {
			l.daemonsKnown = false
			continue
		}
		parts := a.Scope.Helpers
		if i == 0 { // the daemons are every instance's
			parts = slices.Concat(parts, a.Scope.Shared)
		}
		for _, p := range parts {
			if p.Part != "shim" && p.Part != "daemon" && p.Part != "containerd" {
				continue
			}
			v, ok := get(bench.Layer, a.Actor, "helpers", bench.CPUOf(p.Part))
			l.daemons += v
			l.daemonsKnown = l.daemonsKnown && ok
		}
	}
	var pidstat, client bool
	l.pidstat, pidstat = get(bench.Host, "", bench.MeterBeside, bench.CPUOf(PartPidstat))
	l.dockerStats, client = get(bench.Host, "", bench.MeterBeside, bench.CPUOf(PartDockerStats))
	l.hasTools = pidstat && client && l.pidstat > 0 && l.dockerStats > 0 // one that has ended uses nothing
	return l
}

// meters lists what each source's readings cost.
func (w *watch) meters() []MeterRow {
	var rows []MeterRow
	for key, s := range w.rows {
		if s.readings == 0 {
			continue
		}
		r := MeterRow{Platform: key.platform, Level: key.level, Meter: key.meter, Readings: s.readings}
		r.Each = float64(s.ns) / 1e3 / float64(s.readings)
		r.Percent = r.Each / 1e4 // 1 % of a core is 10,000 us a second
		if key.level == bench.Guest && s.seconds > 0 {
			r.Percent = float64(s.ns) / 1e9 / s.seconds * 100
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b MeterRow) int {
		return cmp.Or(slices.Index(w.order, a.Platform)-slices.Index(w.order, b.Platform),
			cmp.Compare(a.Level, b.Level), cmp.Compare(a.Meter, b.Meter))
	})
	return rows
}

// whole is what this program and its agents used, by platform.
func (w *watch) whole() []WholeRow {
	var rows []WholeRow
	for _, p := range w.order {
		r := WholeRow{Platform: p}
		for _, l := range w.runs[p] {
			if !l.known {
				continue
			}
			r.Launches, r.Instances = r.Launches+1, l.instances
			r.Tare += 100 * l.tare
			r.Agents += 100 * l.agents
		}
		if r.Launches == 0 {
			continue
		}
		r.Tare /= float64(r.Launches)
		r.Agents /= float64(r.Launches)
		rows = append(rows, r)
	}
	return rows
}

// tools sets ours against theirs; nil if they did not run.
func (w *watch) tools() *ToolsCost {
	idle := map[int]launch{}
	for _, l := range w.runs[dockerName] {
		if l.daemonsKnown {
			idle[l.block] = l
		}
	}
	t := &ToolsCost{}
	ours, theirs := values{}, values{}
	for _, l := range w.runs[aliased(bench.PlatformRef{Name: dockerName}, Tools).String()] {
		base, ok := idle[l.block]
		if !ok || !l.known || !l.daemonsKnown || !l.hasTools {
			continue
		}
		daemons := l.daemons - base.daemons
		ours[l.block] = l.tare + l.agents
		theirs[l.block] = l.pidstat + l.dockerStats + daemons
		t.Launches, t.Instances = t.Launches+1, l.instances
		t.Tare += 100 * l.tare
		t.Agents += 100 * l.agents
		t.Pidstat += 100 * l.pidstat
		t.DockerStats += 100 * l.dockerStats
		t.Daemons += 100 * daemons
	}
	if t.Launches == 0 {
		return nil
	}
	for _, v := range []*float64{&t.Tare, &t.Agents, &t.Pidstat, &t.DockerStats, &t.Daemons} {
		*v /= float64(t.Launches)
	}
	t.Share = (t.Tare + t.Agents) / (t.Pidstat + t.DockerStats + t.Daemons)
	interval, _, err := effect.Compare(ours, theirs, effect.Confidence, costMargin())
	if err != nil {
		t.Why = err.Error()
		return t
	}
	t.Share, t.Low, t.High = interval.Mid, interval.Low, interval.High
	return t
}

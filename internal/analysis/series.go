package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// representative chooses the trial whose series a report shows: a finished one
// of a platform that is neither the baseline nor labelled, of one instance if
// there is such, with the most samples, of which counts has the number by trial.
func representative(trials []launch, labels map[string]string, baseline string, counts map[string]int) string {
	best, bestRank := "", -1
	for _, t := range trials {
		sc := t.scene
		if !t.done() || !sc.Kind.Sampled() || sc.Kind == bench.Ramped || counts[t.ID] == 0 {
			continue
		}
		rank := 0
		for _, good := range []bool{sc.Platform.String() != baseline, labels[sc.Platform.String()] == "", sc.Kind == bench.One} {
			rank *= 2
			if good {
				rank++
			}
		}
		if rank > bestRank || rank == bestRank && counts[t.ID] > counts[best] {
			best, bestRank = t.ID, rank
		}
	}
	return best
}

// SeriesOf returns the samples of one finished trial as rates and levels. All
// lines have the host's clock: equal T is the same instant.
func SeriesOf(r *store.Run, trial string) (*result.Series, error) {
	var out *bench.Outcome
	for o, err := range r.Outcomes() {
		if err != nil {
			return nil, fmt.Errorf("series of trial %s: %w", trial, err)
		}
		if o.Trial == trial && o.Status == bench.Done {
			out = o
		}
	}
	if out == nil {
		return nil, fmt.Errorf("series of trial %s: it has no finished outcome", trial)
	}
	sc := r.Plan().Scene(out.Scene)
	d := &drawing{lines: map[string]*result.Line{}, last: map[string]reading{}, own: map[string]bool{}}
	series := &result.Series{Trial: trial, Case: sc.Case, Platform: sc.Platform.String()}
	for _, a := range out.Actors {
		d.own[a.Actor] = a.Scope != nil && usage.CountsItself(a.Scope)
		if a.Role == bench.Subject {
			series.Label = a.Label
		}
	}
	if err := r.Samples(trial, func(s *bench.Sample) error { d.add(s); return nil }); err != nil {
		return nil, fmt.Errorf("series of trial %s: %w", trial, err)
	}
	if d.n == 0 {
		return nil, fmt.Errorf("series of trial %s: it has no samples", trial)
	}
	for i := range out.Window {
		series.Window[i] = d.seconds(out.Window[i])
	}
	for _, key := range d.order {
		if l := d.lines[key]; len(l.T) > 0 {
			series.Lines = append(series.Lines, *l)
		}
	}
	return series, nil
}

type reading struct {
	at    int64
	value float64
}

// A drawing turns samples into lines as they come.
type drawing struct {
	n      int
	origin int64
	lines  map[string]*result.Line
	order  []string
	last   map[string]reading
	own    map[string]bool // actors with a kernel of their own
}

func (d *drawing) seconds(at int64) float64 { return float64(at-d.origin) / 1e9 }

func (d *drawing) add(s *bench.Sample) {
	if d.n == 0 {
		d.origin = s.At
	}
	d.n++
	if s.Level == bench.Guest && !d.own[s.Actor] {
		return // the agent sees the host's kernel: its counters are not the instance's
	}
	who := strings.TrimSpace(s.Actor + " ")
	name := func(what string) string {
		switch {
		case s.Level == bench.Host:
			return "host" + what
		case s.Level == bench.Guest:
			return who + " inside" + what
		case s.Level == bench.Inner:
			return who + " layer in the outer guest" + what
		case s.Level == bench.Outer:
			return who + " outer guest" + what
		case s.Meter == "helpers":
			return who + " helpers" + what
		}
		return who + what
	}
	if s.Meter == "helpers" {
		sum, found := 0.0, false
		for _, c := range slices.Sorted(maps.Keys(s.Values)) {
			if usage.IsPart(c) {
				sum, found = sum+s.Values[c], true
			}
		}
		if found {
			d.rate(s, "cpu", name(""), "cores", sum)
		}
	}
	for _, c := range []struct{ column, quantity, what, unit string }{
		{bench.ColCPUBusy, "cpu", "", "cores"},
		{bench.ColDiskRead, "disk", " read", "bytes/s"}, {bench.ColDiskWrite, "disk", " write", "bytes/s"},
		{bench.ColNetRx, "network", " received", "bytes/s"}, {bench.ColNetTx, "network", " sent", "bytes/s"},
	} {
		if v, ok := s.Values[c.column]; ok {
			d.rate(s, c.quantity, name(c.what), c.unit, v)
		}
	}
	for _, column := range []string{bench.ColMemUsed, bench.ColMemRSS} {
		if v, ok := s.Values[column]; ok && (column == bench.ColMemUsed || s.Meter == "helpers") {
			d.point(s, "memory", name(""), "bytes", d.seconds(s.At), v)
		}
	}
}

// rate draws the change of a counter since the reading before. Where it went
// backwards there is no point.
func (d *drawing) rate(s *bench.Sample, quantity, name, unit string, v float64) {
	key := quantity + "\x00" + name
	now := reading{s.At + s.Late, v}
	before, ok := d.last[key]
	d.last[key] = now
	if seconds := float64(now.at-before.at) / 1e9; ok && seconds > 0 && v >= before.value {
		d.point(s, quantity, name, unit, d.seconds(s.At), (v-before.value)/seconds)
	}
}

func (d *drawing) point(s *bench.Sample, quantity, name, unit string, t, y float64) {
	key := quantity + "\x00" + name
	l := d.lines[key]
	if l == nil {
		l = &result.Line{Level: s.Level, Quantity: quantity, Name: name, Unit: unit}
		d.lines[key] = l
		d.order = append(d.order, key)
	}
	l.T, l.Y = append(l.T, t), append(l.Y, y)
}

package analysis

import (
	"errors"
	"io/fs"

	"tare/internal/analysis/stats"
	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// observed is what one pass over all samples leaves.
type observed struct {
	usage  map[string]*usage.Launch // by trial, of each that finished
	counts map[string]int           // samples by trial
	levels map[bench.Level]*watched
	powers *powers
}

// watched is what observing one level cost.
type watched struct {
	late, took []int64
	seconds    float64 // that were observed
	spent      float64 // CPU seconds
}

// sampleReader reads the samples of a run. It warns of those that cannot be read.
type sampleReader struct {
	run      *store.Run
	sources  []bench.PowerSource
	warnings *warnings
}

// read reads the samples of every finished trial and of the stretches of rest once.
func (r *sampleReader) read(trials, rests []launch, blocks int) *observed {
	o := &observed{usage: map[string]*usage.Launch{}, counts: map[string]int{}, levels: map[bench.Level]*watched{},
		powers: &powers{drawn: map[string]map[string]meanPower{}, idles: map[string]map[int]result.IdlePower{}, busy: map[string]float64{}, noIdle: map[string]float64{}}}
	read := map[string]usage.Sources{} // by trial
	for _, t := range trials {
		if !t.done() {
			continue
		}
		out := t.outcome
		tracks := usage.Sources{}
		spans := map[bench.Level][2]int64{}
		readings := map[string][]powerReading{} // by meter
		err := r.run.Samples(t.ID, func(x *bench.Sample) error {
			o.counts[t.ID]++
			o.watch(x, spans)
			if x.Level == bench.Power {
				readings[x.Meter] = append(readings[x.Meter], newPowerReading(x))
				return nil
			}
			if x.At >= out.Window[0] && x.At <= out.Window[1] {
				tracks.Add(x)
			}
			return nil
		})
		switch {
		case out.Unmetered:
			continue
		case errors.Is(err, fs.ErrNotExist) && !t.scene.Kind.Sampled():
		case err != nil:
			r.warnings.add("the resource usage of trial %s is left out: %v", t.ID, err)
			continue
		}
		if len(r.sources) > 0 {
			o.powers.drawn[t.ID] = drawPower(r.sources, readings, out.Window)
		}
		for level, span := range spans {
			o.levels[level].seconds += float64(span[1]-span[0]) / 1e9
		}
		read[t.ID] = tracks
	}
	r.rest(rests, blocks, o.powers)
	idle := usage.IdleDaemons(read)
	for _, t := range trials {
		if tracks := read[t.ID]; tracks != nil {
			o.usage[t.ID] = usage.LaunchOf(t.outcome, tracks, idle)
		}
	}
	return o
}

// watch books the cost of a reading. That of the first tick of a trial is left
// out: it has no interval before it.
func (o *observed) watch(x *bench.Sample, spans map[bench.Level][2]int64) {
	w := o.levels[x.Level]
	if w == nil {
		w = &watched{}
		o.levels[x.Level] = w
	}
	w.late = append(w.late, x.Late)
	w.took = append(w.took, x.Took)
	span, ok := spans[x.Level]
	if !ok {
		span = [2]int64{x.At, x.At}
	}
	if x.At > span[0] {
		w.spent += float64(x.CPU) / 1e9
	}
	span[1] = max(span[1], x.At)
	spans[x.Level] = span
}

func (o *observed) observer() result.Observer {
	out := result.Observer{Levels: []result.ObserverLevel{}}
	for _, level := range []bench.Level{bench.Guest, bench.Inner, bench.Outer, bench.Layer, bench.Host, bench.Power} {
		w := o.levels[level]
		if w == nil {
			continue
		}
		late, took := milliseconds(w.late), milliseconds(w.took)
		l := result.ObserverLevel{Level: level, Samples: len(late), LateP50: stats.Quantile(late, 0.5),
			LateP99: stats.Quantile(late, 0.99), TookP99: stats.Quantile(took, 0.99)}
		if w.seconds > 0 {
			l.CPU = w.spent / w.seconds
		}
		out.Levels = append(out.Levels, l)
	}
	return out
}

func milliseconds(ns []int64) []float64 {
	out := make([]float64, len(ns))
	for i, v := range ns {
		out[i] = float64(v) / 1e6
	}
	return out
}

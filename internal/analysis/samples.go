package analysis

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// observed is what one pass over all samples leaves.
type observed struct {
	usage  map[string]*usage.Launch // by trial, of each that finished
	counts map[string]int           // samples by trial
	levels levels
	powers *powers
}

// levels are what observing cost.
type levels map[bench.Level]*watched

// watched is what observing one level cost.
type watched struct {
	late, took durations
	seconds    float64 // that were observed
	spent      float64 // CPU seconds
}

// sampleReader reads the samples of a run. It warns of those that cannot be read.
type sampleReader struct {
	run      *store.Run
	sources  []bench.PowerSource
	warnings *warnings
}

// ofTrial is what the samples of one trial leave.
type ofTrial struct {
	n        int
	tracks   usage.Sources
	readings map[string][]powerReading // by meter
	spans    map[bench.Level][2]int64
	spent    map[bench.Level]float64 // CPU seconds
	err      error
}

// read reads the samples of every finished trial and of the stretches of rest once.
func (r *sampleReader) read(trials, rests []launch, blocks int) *observed {
	o := &observed{usage: map[string]*usage.Launch{}, counts: map[string]int{}, levels: levels{},
		powers: &powers{drawn: map[string]map[string]meanPower{}, idles: map[string]map[int]result.IdlePower{}, busy: map[string]float64{}, noIdle: map[string]float64{}}}
	var done []launch
	for _, t := range trials {
		if t.done() {
			done = append(done, t)
		}
	}
	read := map[string]usage.Sources{} // by trial
	for i, x := range r.all(done, o.levels) {
		t := done[i]
		o.counts[t.ID] = x.n
		for level, spent := range x.spent {
			o.levels[level].spent += spent
		}
		switch {
		case t.outcome.Unmetered:
			continue
		case errors.Is(x.err, fs.ErrNotExist) && !t.scene.Kind.Sampled():
		case x.err != nil:
			r.warnings.add("the resource usage of trial %s is left out: %v", t.ID, x.err)
			continue
		}
		if len(r.sources) > 0 {
			o.powers.drawn[t.ID] = drawPower(r.sources, x.readings, t.outcome.Window)
		}
		for level, span := range x.spans {
			o.levels[level].seconds += float64(span[1]-span[0]) / 1e9
		}
		read[t.ID] = x.tracks
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

// all reads the samples of trials, several at a time, and books how long the readings took.
func (r *sampleReader) all(trials []launch, cost levels) []ofTrial {
	out := make([]ofTrial, len(trials))
	var next atomic.Int64
	var workers sync.WaitGroup
	costs := make([]levels, min(len(trials), runtime.GOMAXPROCS(0)))
	for w := range costs {
		costs[w] = levels{}
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(trials); i = int(next.Add(1)) - 1 {
				out[i] = r.one(trials[i], costs[w])
			}
		})
	}
	workers.Wait()
	for _, c := range costs {
		cost.merge(c)
	}
	return out
}

func (r *sampleReader) one(t launch, cost levels) ofTrial {
	window := t.outcome.Window
	out := ofTrial{tracks: usage.Sources{}, readings: map[string][]powerReading{}, spans: map[bench.Level][2]int64{}, spent: map[bench.Level]float64{}}
	out.err = r.run.Samples(t.ID, func(x *bench.Sample) error {
		out.n++
		cost.watch(x)
		out.watch(x)
		if x.Level == bench.Power {
			out.readings[x.Meter] = append(out.readings[x.Meter], newPowerReading(x))
			return nil
		}
		if x.At >= window[0] && x.At <= window[1] {
			out.tracks.Add(x)
		}
		return nil
	})
	return out
}

// watch books the CPU time of a reading. That of the first tick of a trial is left
// out: it has no interval before it.
func (t *ofTrial) watch(x *bench.Sample) {
	span, ok := t.spans[x.Level]
	if !ok {
		span = [2]int64{x.At, x.At}
	}
	if x.At > span[0] {
		t.spent[x.Level] += float64(x.CPU) / 1e9
	}
	span[1] = max(span[1], x.At)
	t.spans[x.Level] = span
}

func (l levels) watch(x *bench.Sample) {
	w := l[x.Level]
	if w == nil {
		w = &watched{}
		l[x.Level] = w
	}
	w.late.add(x.Late)
	w.took.add(x.Took)
}

// merge adds what was booked elsewhere.
func (l levels) merge(of levels) {
	for level, x := range of {
		w := l[level]
		if w == nil {
			l[level] = x
			continue
		}
		w.late.merge(&x.late)
		w.took.merge(&x.took)
	}
}

func (o *observed) observer() result.Observer {
	out := result.Observer{Levels: []result.ObserverLevel{}}
	for _, level := range []bench.Level{bench.Guest, bench.Inner, bench.Outer, bench.Layer, bench.Host, bench.Power} {
		w := o.levels[level]
		if w == nil {
			continue
		}
		l := result.ObserverLevel{Level: level, Samples: w.late.n, LateP50: w.late.milliseconds(0.5),
			LateP99: w.late.milliseconds(0.99), TookP99: w.took.milliseconds(0.99)}
		if w.seconds > 0 {
			l.CPU = w.spent / w.seconds
		}
		out.Levels = append(out.Levels, l)
	}
	return out
}

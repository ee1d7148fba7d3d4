package overhead

import (
	"errors"
	"io/fs"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/usage"
)

// observed is what one pass over all samples leaves.
type observed struct {
	shares map[string][]*usage.Launch // by scene, of each finished launch
	trials map[string]*usage.Launch   // the same by trial
	counts map[string]int             // samples by trial
	levels map[bench.Level]*watched
	powers *powers
}

// watched is what observing one level cost.
type watched struct {
	late, took []int64
	seconds    float64 // that were observed
	spent      float64 // CPU seconds
}

// samples reads the samples of every finished trial once.
func (s *study) samples() *observed {
	o := &observed{shares: map[string][]*usage.Launch{}, trials: map[string]*usage.Launch{}, counts: map[string]int{}, levels: map[bench.Level]*watched{},
		powers: &powers{drawn: map[string]map[string]meanPower{}, rests: map[string]map[int]result.RestPower{}, busy: map[string]float64{}, restless: map[string]float64{}}}
	read := map[string]usage.Tracks{} // by trial
	for _, t := range s.plan.Trials {
		out := s.last[t.ID]
		if out == nil || out.Status != bench.Done {
			continue
		}
		tracks := usage.Tracks{}
		spans := map[bench.Level][2]int64{}
		readings := map[string][]powerReading{} // by meter
		err := s.run.Samples(t.ID, func(x *bench.Sample) error {
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
		case errors.Is(err, fs.ErrNotExist) && !s.plan.Scene(t.Scene).Kind.Sampled():
		case err != nil:
			s.warn("the resource usage of trial %s is left out: %v", t.ID, err)
			continue
		}
		if sources := s.run.Header().Power; len(sources) > 0 {
			o.powers.drawn[t.ID] = drawPower(sources, readings, out.Window)
		}
		for level, span := range spans {
			o.levels[level].seconds += float64(span[1]-span[0]) / 1e9
		}
		read[t.ID] = tracks
	}
	s.rest(o.powers)
	idle := usage.IdleDaemons(read)
	for _, t := range s.plan.Trials {
		if tracks := read[t.ID]; tracks != nil {
			o.trials[t.ID] = usage.LaunchOf(s.last[t.ID], tracks, idle)
			o.shares[t.Scene] = append(o.shares[t.Scene], o.trials[t.ID])
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

package analysis

import (
	"tare/internal/analysis/stop"
	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// study is what is read of a run, once. The tables are made of it and leave it as it is.
type study struct {
	trials    []launch    // in the plan's order, also those that were not needed
	scenes    []*launches // in the plan's order
	ends      *stop.Ends
	platforms []result.Platform
	labels    map[string]string // by platform
	observed  *observed
	disturbed disturbed
	warnings  warnings
}

// launch is a trial of the plan and what became of it.
type launch struct {
	bench.Trial
	scene   *bench.Scene
	outcome *bench.Outcome // the final one, or the aborted one if there is no other; nil for none
}

// launches are those of a scene, which is a case on one platform.
type launches struct {
	scene    *bench.Scene
	platform string
	label    string
	asked    []launch                 // in block order: that the stopping rule asked for or that were made, none beyond the end of the scene
	done     []*bench.Outcome         // of those that finished, beside a neighbour where the scene has one
	deserted []*bench.Outcome         // of those that finished without it
	used     []*usage.Launch          // of all that finished and have samples
	usage    map[string]*usage.Launch // the same by trial
	alone    *launches                // what the scene is set against; nil if it is not, or that is not of this platform
	besides  bool                     // it is set against that by the reader, and not by the plan
}

// read reads a run. An outcome that cannot be read is an error.
func read(r *store.Run) (*study, error) {
	last := map[string]*bench.Outcome{}
	known := stop.NewOutcomes(r.Plan())
	var disturbed disturbed
	for o, err := range r.Outcomes() {
		if err != nil {
			return nil, err
		}
		disturbed.take(o, r.Plan())
		last[o.Trial] = bench.Latest(last[o.Trial], o)
		known.Add(o)
	}
	p := r.Plan()
	s := &study{disturbed: disturbed, ends: stop.Replay(p, known), labels: map[string]string{}}
	for _, t := range p.Trials {
		s.trials = append(s.trials, launch{t, p.Scene(t.Scene), last[t.ID]})
	}
	s.platforms = platforms(p.Scenes, s.trials, r.Header().Platforms, &s.warnings)
	for _, p := range s.platforms {
		s.labels[p.Name] = p.Label
	}
	var rests []launch
	for _, t := range p.Idles() {
		rests = append(rests, launch{Trial: t, outcome: last[t.ID]})
	}
	samples := sampleReader{run: r, sources: r.Header().Power, warnings: &s.warnings}
	s.observed = samples.read(s.trials, rests, p.Blocks)
	s.gather(p)
	return s, nil
}

// gather puts the trials of each scene together.
func (s *study) gather(p *bench.Plan) {
	by := map[string]*launches{}
	for i := range p.Scenes {
		sc := &p.Scenes[i]
		name := sc.Platform.String()
		l := &launches{scene: sc, platform: name, label: s.labels[name], usage: s.observed.usage}
		s.scenes, by[sc.ID] = append(s.scenes, l), l
	}
	for _, t := range s.trials {
		l := by[t.Scene]
		if u := s.observed.usage[t.ID]; u != nil {
			l.used = append(l.used, u)
		}
		if !s.ends.Needs(t.Trial) {
			continue
		}
		if t.outcome != nil || s.ends.Asked(t.Trial) {
			l.asked = append(l.asked, t)
		}
		switch {
		case !t.done():
		case deserted(t.outcome) != "":
			l.deserted = append(l.deserted, t.outcome)
		default:
			l.done = append(l.done, t.outcome)
		}
	}
	for _, l := range s.scenes {
		if r := l.scene.Relative; r != nil {
			l.alone = by[r.To+"/"+l.platform]
		}
	}
}

func (l *launch) done() bool { return l.outcome != nil && l.outcome.Status == bench.Done }

// points are the finished launches' values of a metric.
func (l *launches) points(metric string) []result.Point {
	points := []result.Point{}
	for _, o := range l.done {
		if v, known := usedBy(l.usage[o.Trial], metric); known {
			points = append(points, result.Point{Block: o.Block, Trial: o.Trial, Value: v})
		}
		for _, v := range o.Values {
			if v.Metric == metric {
				points = append(points, result.Point{Block: o.Block, Trial: o.Trial, Value: v.Value})
			}
		}
	}
	return points
}

// fates counts the launches that did not finish, by what became of them. Aborted ones are missing.
func (l *launches) fates() (c result.Counts) {
	for _, t := range l.asked {
		switch o := t.outcome; {
		case o == nil || o.Status == bench.Aborted:
			c.Missing++
		case o.Status == bench.Failed:
			c.Failed++
		case o.Status == bench.DidNotFinish:
			c.DNF++
		case o.Status == bench.Overdue:
			c.Overdue++
		}
	}
	return c
}

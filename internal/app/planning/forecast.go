package planning

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/forecast"
	"tare/internal/analysis/stop"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result/store"
)

// Forecast says what the plan will take by earlier runs of this host. A run of another host and a
// scene that was measured otherwise are left out, which the warnings say; only the length of the
// measured window may differ. An outcome that cannot be read is an error.
func (p *Planned) Forecast(runs []*store.Run) (*forecast.Forecast, error) {
	var earlier []forecast.Run
	var warnings []string
	images := map[string]bool{}
	for _, r := range runs {
		id := r.Header().Run
		if slices.ContainsFunc(earlier, func(e forecast.Run) bool { return e.ID == id }) {
			continue
		}
		if why := p.unlike(r); why != "" {
			warnings = append(warnings, fmt.Sprintf("run %s is left out: %s", id, why))
			continue
		}
		scenes, others := p.matching(r)
		warnings = append(warnings, others...)
		e := forecast.Run{ID: id, Scenes: scenes}
		if err := measured(r, scenes); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		earlier = append(earlier, e)
		if len(scenes) > 0 {
			images[r.Header().Image] = true
		}
	}
	if len(images) > 1 {
		warnings = append(warnings, fmt.Sprintf("the earlier runs are of %d images: another program may scatter otherwise", len(images)))
	}
	f := forecast.Of(p.Plan, earlier)
	f.Warnings = append(warnings, f.Warnings...)
	return f, nil
}

// unlike says why a run is not of this host as it is; "" if it is.
func (p *Planned) unlike(r *store.Run) string {
	h := r.Header()
	here, there := audit.Run{Host: p.Facts}, audit.Run{Image: h.Image, Tare: h.Tare, Agent: h.Agent, Programs: h.Programs, ObserverCPUs: h.ObserverCPUs, Host: r.Host()}
	why := ""
	var more []string
	for _, k := range audit.CompareRuns(here, there) {
		switch {
		case k.State != audit.Invalid && (k.State != audit.Differs || k.Name != "host name"):
		case why == "":
			why = fmt.Sprintf("%s: %s here, %s there", k.Name, k.Baseline, k.Subject)
		default:
			more = append(more, k.Name)
		}
	}
	if more != nil {
		why += "; other, too: " + strings.Join(more, ", ")
	}
	return why
}

// matching are the scenes of a run that are the plan's, by id, and what is to be said of
// those that are not.
func (p *Planned) matching(r *store.Run) (scenes map[string]*forecast.Scene, others []string) {
	scenes = map[string]*forecast.Scene{}
	unlike := map[string][]string{} // scenes by reason
	for i := range p.Scenes {
		s := &p.Scenes[i]
		old := r.Plan().Scene(s.ID)
		if old == nil {
			continue
		}
		if why := p.otherwise(s, old, r); why != "" {
			unlike[why] = append(unlike[why], s.ID)
			continue
		}
		scenes[s.ID] = &forecast.Scene{}
		if s.Kind.Sampled() {
			scenes[s.ID].Window, scenes[s.ID].Warmup = old.Timing.Measure.Seconds(), old.Timing.Warmup.Seconds()
		}
	}
	for _, why := range slices.Sorted(maps.Keys(unlike)) {
		of := unlike[why]
		others = append(others, fmt.Sprintf("run %s: %s left out, such as %s: %s", r.Header().Run, figure.Count(len(of), "scene"), of[0], why))
	}
	if len(scenes) == 0 && len(unlike) == 0 {
		others = append(others, fmt.Sprintf("run %s has none of these scenes: it is of %s", r.Header().Run, r.Plan().Experiment))
	}
	return scenes, others
}

// otherwise says in what a scene was measured otherwise than it is planned, but for
// the window's length; "" if in nothing.
func (p *Planned) otherwise(s, old *bench.Scene, r *store.Run) string {
	alike := *old
	alike.Timing.Measure = s.Timing.Measure
	alike.Timing.Deadline = s.Timing.Deadline
	resource := p.Resources[s.Case]
	metrics := r.Plan().Metrics[s.Case]
	for _, name := range stop.Deciding(p.Metrics[s.Case]) {
		of := func(all []bench.Metric) bench.Metric {
			if i := slices.IndexFunc(all, func(m bench.Metric) bool { return m.Name == name }); i >= 0 {
				return all[i]
			}
			return bench.Metric{Name: "no " + name}
		}
		here := audit.Row{Scene: s, Metric: of(p.Metrics[s.Case]), Resource: resource, Host: p.Facts}
		there := audit.Row{Scene: &alike, Metric: of(metrics), Resource: resource, Host: r.Host()}
		for _, k := range audit.CompareRows(here, there) {
			if k.State == audit.Invalid {
				return fmt.Sprintf("%s: %s planned, %s there", k.Name, k.Baseline, k.Subject)
			}
		}
	}
	return ""
}

// measured fills the scenes with what the run measured of them.
func measured(r *store.Run, scenes map[string]*forecast.Scene) error {
	last := map[string]*bench.Outcome{} // what is needed of the one that counts, by trial
	for o, err := range r.Outcomes() {
		if err != nil {
			return err
		}
		s := scenes[o.Scene]
		if s == nil || !o.Status.Final() {
			continue
		}
		s.Spent += took(r, o)
		if last[o.Trial] == nil {
			s.Trials++
		}
		last[o.Trial] = &bench.Outcome{Block: o.Block, Scene: o.Scene, Status: o.Status, Phases: o.Phases, Window: o.Window, Values: o.Values,
			Actors: seriesOf(o)}
	}
	for _, trial := range slices.Sorted(maps.Keys(last)) {
		o := last[trial]
		if o.Status != bench.Done {
			continue
		}
		l := forecast.Launch{Block: o.Block, Values: map[string]float64{}, Series: map[string]bench.Series{}, Took: took(r, o)}
		for _, v := range o.Values {
			l.Values[v.Metric] = v.Value
			if s, ok := o.SeriesOf(v.Metric); ok {
				l.Series[v.Metric] = s
			}
		}
		if s := scenes[o.Scene]; s.Window > 0 {
			l.Window = time.Duration(o.Window[1] - o.Window[0]).Seconds()
		}
		scenes[o.Scene].Launches = append(scenes[o.Scene].Launches, l)
	}
	return nil
}

// seriesOf are an outcome's actors with nothing but their series.
func seriesOf(o *bench.Outcome) []bench.ActorOutcome {
	var all []bench.ActorOutcome
	for _, a := range o.Actors {
		all = append(all, bench.ActorOutcome{Role: a.Role, Series: a.Series})
	}
	return all
}

func took(r *store.Run, o *bench.Outcome) float64 {
	return stop.Took(r.Plan().Scene(o.Scene), o).Seconds()
}

package analysis

import (
	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// disturbed is what other work on the host had the run do again, or wait for.
type disturbed struct {
	worst *bench.Outcome            // of the launches that were repeated
	last  map[string]*bench.Outcome // by trial, the last of it that other work disturbed
	n     int                       // launches repeated
	waits float64                   // seconds
	// spared are the launches that only steal would have had repeated which is usual in the run, and
	// stolen is the most that was taken beside one, in CPUs.
	spared int
	stolen float64
}

// take takes notice of an outcome, in the order of the run.
func (d *disturbed) take(o *bench.Outcome, p *bench.Plan) {
	if d.last == nil {
		d.last = map[string]*bench.Outcome{}
	}
	d.waits += o.Waited
	if !o.Status.Final() {
		return
	}
	if before := d.last[o.Trial]; before != nil { // runs of earlier versions repeated failed launches, too
		d.n++
		if d.worst == nil || heaviest(before) > heaviest(d.worst) {
			d.worst = before
		}
		delete(d.last, o.Trial)
	}
	if o.Disturbed != "" {
		d.last[o.Trial] = o
	}
	if p.Disturbed != nil && o.Repeat < p.Disturbed.Repeats && p.Disturbed.Spares(o) {
		d.spared++
		d.stolen = max(d.stolen, o.Outside.Stolen())
	}
}

// heaviest is the other work that held the host before a launch or since, in CPUs.
func heaviest(o *bench.Outcome) float64 {
	if o.Outside == nil {
		return 0
	}
	most := o.Outside.Before.Sum()
	if during := o.Outside.During; during != nil {
		most = max(most, during.Sum())
	}
	return most
}

// disturbed counts the launches that were repeated, and those that count though other work held the host.
func (l *launches) disturbed() (repeated, still int) {
	for _, t := range l.asked {
		if t.outcome == nil {
			continue
		}
		if t.outcome.Repeat > 0 {
			repeated++
		}
		if t.outcome.Disturbed != "" && t.outcome.Status.Final() {
			still++
		}
	}
	return repeated, still
}

// ofDisturbed says what other work on the host had the run do.
func (w *warnings) ofDisturbed(d *disturbed, trials []launch) {
	if d.n > 0 {
		were := "were"
		if d.n == 1 {
			were = "was"
		}
		w.add("%s %s repeated, the last of each trial counts: %s", figure.Count(d.n, "launch"), were, d.worst.Disturbed)
	}
	if d.spared > 0 {
		were := "were"
		if d.spared == 1 {
			were = "was"
		}
		w.add("%s %s not repeated although the outer host took up to %.2f CPUs: it usually does in this run", figure.Count(d.spared, "launch"), were, d.stolen)
	}
	still := 0
	for _, t := range trials {
		if t.outcome != nil && t.outcome.Disturbed != "" && t.outcome.Status.Final() {
			still++
		}
	}
	if still > 0 {
		w.add("%d of %s count although other work held the host", still, figure.Count(made(trials), "launch"))
	}
	if d.waits >= 1 {
		w.add("the run waited %.0f s in all for other work on the host to end", d.waits)
	}
}

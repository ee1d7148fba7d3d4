package bench

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
)

// Disturbance says from when on other work on the host disturbs a launch, and what is done then. It
// is declared before the run. Whether a launch was disturbed never depends on its result, nor do
// repeats on its figures.
type Disturbance struct {
	// Above is how much other work disturbs, in CPUs: what processes outside the run used, and what
	// the hypervisor below took beyond what is usual in the run ([UsualSteal]).
	Above float64 `json:"above_cpus"`
	// Repeats is how often a trial is launched again, at the end of its block, at most.
	Repeats int `json:"repeats"`
}

// MaxRepeats bounds [Disturbance.Repeats].
const MaxRepeats = 10

// DefaultDisturbance holds for an experiment that declares nothing else.
var DefaultDisturbance = Disturbance{Above: 0.3, Repeats: 1}

// OtherWork is what held the host besides the run, over a stretch of time. Both are in CPUs.
type OtherWork struct {
	// CPUs is what processes used that are neither Tare's nor of its instances. Kernel threads are
	// not among them: nothing tells for whom they work.
	CPUs float64 `json:"cpus"`
	// Stolen is what the hypervisor below this host took.
	Stolen float64 `json:"stolen_cpus"`
	// Most names the program that used the most; empty if none used any.
	Most string `json:"most,omitempty"`
}

// Sum is all of it, in CPUs.
func (w *OtherWork) Sum() float64 { return w.CPUs + w.Stolen }

// Beyond is what of it is not usual, where that much steal is. It is in CPUs.
func (w *OtherWork) Beyond(usual float64) float64 { return w.CPUs + max(0, w.Stolen-usual) }

// String says it: "0.80 of a CPU (cc1plus), 0.10 stolen".
func (w *OtherWork) String() string { return w.beside(0) }

// beside says it with what is usual of the steal.
func (w *OtherWork) beside(usual float64) string {
	text := fmt.Sprintf("%.2f CPUs (%s)", w.CPUs, cmp.Or(w.Most, "no process"))
	if w.Most == "" {
		text = fmt.Sprintf("%.2f CPUs", w.CPUs)
	}
	if w.Stolen >= 0.005 {
		text += fmt.Sprintf(", %.2f stolen by the outer host", w.Stolen)
	}
	if usual >= 0.005 && w.Stolen >= 0.005 {
		text += fmt.Sprintf(" (usually %.2f)", usual)
	}
	return text
}

// Outside is the other work around one launch.
type Outside struct {
	// Before is of the pause before the launch: since the trial before was closed.
	Before OtherWork `json:"before"`
	// During is from the launch until the measurement had ended. It is nil where the launch itself
	// is measured and for a ramp: there the host's own services are at work for the platform.
	During *OtherWork `json:"during,omitempty"`
}

// Stolen is the most that the hypervisor below took, before the launch or since, in CPUs.
func (o *Outside) Stolen() float64 {
	if o.During == nil {
		return o.Before.Stolen
	}
	return max(o.Before.Stolen, o.During.Stolen)
}

// Of says what of the other work disturbed a launch, "" if none was above the bound. Steal counts as
// far as it is above what is usual: what is there all the time is there when the launch is repeated.
func (d Disturbance) Of(o *Outside, usual Steal) string {
	if o == nil {
		return ""
	}
	var parts []string
	if o.Before.Beyond(usual.Before) > d.Above {
		parts = append(parts, o.Before.beside(usual.Before)+" before the launch")
	}
	if o.During != nil && o.During.Beyond(usual.During) > d.Above {
		parts = append(parts, o.During.beside(usual.During)+" since the launch")
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("other work held %s; bound %g", strings.Join(parts, ", and "), d.Above)
}

// Spares reports whether the launch would have been disturbed but for steal that is usual in the run.
func (d Disturbance) Spares(o *Outcome) bool {
	return o.Disturbed == "" && d.Of(o.Outside, Steal{}) != ""
}

// Repeats reports whether the trial is to be launched again after this outcome, which is its last. A
// launch that failed is not: it has a reason of its own, and a failure is no figure that noise moves.
func (p *Plan) Repeats(o *Outcome) bool {
	return p.Disturbed != nil && o.Disturbed != "" && o.Status.Final() && o.Status != Failed && o.Repeat < p.Disturbed.Repeats
}

// Settled reports whether the trial is never run again after this outcome.
func (p *Plan) Settled(o *Outcome) bool { return o.Status.Final() && !p.Repeats(o) }

// Counting passes on the outcomes that count of those of a run: of a trial that was repeated none
// but those of its last launch that is final. It reads them twice.
func Counting(outcomes iter.Seq2[*Outcome, error]) iter.Seq2[*Outcome, error] {
	return func(yield func(*Outcome, error) bool) {
		last := map[string]int{}
		for o, err := range outcomes {
			if err == nil && o.Status.Final() {
				last[o.Trial] = o.Repeat
			}
		}
		for o, err := range outcomes {
			if (err != nil || o.Repeat == last[o.Trial]) && !yield(o, err) {
				return
			}
		}
	}
}

// Latest returns which of two outcomes of a trial counts, the later one second. It is that one, but
// an aborted one does not take the place of a final one. The earlier may be nil.
func Latest(earlier, later *Outcome) *Outcome {
	if earlier != nil && earlier.Status.Final() && !later.Status.Final() {
		return earlier
	}
	return later
}

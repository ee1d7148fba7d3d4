package run

import (
	"fmt"
	"sync"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// account is what is kept of a trial.
type account struct {
	outcome bench.Outcome
	samples []bench.Sample
	phase   string             // the last that began
	tell    func(phase string) // that a phase begins; nil to tell nobody

	mu      sync.Mutex // guards outputs
	outputs map[string][]byte
}

// enter begins a phase and ends the one before.
func (k *account) enter(phase string) {
	now := clock.Now()
	k.endPhase(now)
	k.outcome.Phases = append(k.outcome.Phases, bench.Phase{Name: phase, Start: now, End: now})
	k.phase = phase
	if k.tell != nil {
		k.tell(phase)
	}
}

// endPhase ends the last phase, if one has begun.
func (k *account) endPhase(at int64) {
	if n := len(k.outcome.Phases); n > 0 {
		k.outcome.Phases[n-1].End = at
	}
}

// warn keeps what a reader of the outcome must know.
func (k *account) warn(format string, args ...any) {
	k.outcome.Warnings = append(k.outcome.Warnings, fmt.Sprintf(format, args...))
}

// keepOutput keeps what an actor's program printed. Subjects call it at once.
func (k *account) keepOutput(a *actor, out bench.Output) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.outputs[a.Name+".stdout"] = out.Stdout
	k.outputs[a.Name+".stderr"] = out.Stderr
}

package bench

import (
	"fmt"
	"slices"
)

// Whose work a span of a launch is.
type Whose string

const (
	// OfPlatform: the runtime's, the monitor's or the guest kernel's.
	OfPlatform Whose = "platform"
	// OfAgent: that of Tare's agent inside, which in a virtual machine is its init as well.
	OfAgent Whose = "agent"
	// OfTare: this program's own, on the host; a launch by hand has none of it.
	OfTare Whose = "tare"
)

// Span is a stretch of a launch, in nanoseconds of the host's CLOCK_MONOTONIC.
type Span struct {
	Name  string `json:"name"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
	Whose Whose  `json:"whose"`
	// Source says how its ends are known.
	Source string `json:"source"`
	// Known bounds, in nanoseconds, how far either end may lie from the truth; 0
	// for stamps of the host's own clock.
	Known int64 `json:"known_ns,omitempty"`
}

// The phases of a launch, in their order. One that a platform does not have is absent.
const (
	PhaseCreate  = "create"        // the start command, until the guest's kernel or the agent's program runs
	PhaseKernel  = "kernel"        // the guest's kernel, until its init runs
	PhaseInit    = "init"          // the init system, until the agent's program runs
	PhaseAgent   = "agent"         // until the first byte from inside
	PhaseCommand = "first command" // from there to the end of the first command run inside
)

// LaunchPhases are the names of a launch's phases in their order.
var LaunchPhases = []string{PhaseCreate, PhaseKernel, PhaseInit, PhaseAgent, PhaseCommand}

// StartUp is how a launch went.
type StartUp struct {
	// Phases follow each other without a gap, from the start command to the end
	// of the first command or, where none was timed, to the first byte from inside.
	Phases []Span `json:"phases"`
	// Own is when Tare itself was at work in that time, in order and without
	// overlap. A platform may have worked beside it, so that their sum is the most
	// that Tare can have added.
	Own []Span `json:"own"`
}

// OwnTime is the sum of Tare's own spans, in nanoseconds.
func (s *StartUp) OwnTime() int64 {
	var sum int64
	for _, o := range s.Own {
		sum += o.End - o.Start
	}
	return sum
}

// Phase returns how long the phase took, in nanoseconds, 0 if there was none.
func (s *StartUp) Phase(name string) int64 {
	for _, p := range s.Phases {
		if p.Name == name {
			return p.End - p.Start
		}
	}
	return 0
}

// Check is an error if the spans contradict what a [StartUp] promises.
func (s *StartUp) Check() error {
	if len(s.Phases) == 0 {
		return fmt.Errorf("start-up: no phases: %w", ErrInvalid)
	}
	order := -1
	for i, p := range s.Phases {
		at := slices.Index(LaunchPhases, p.Name)
		if at <= order || p.End < p.Start {
			return fmt.Errorf("start-up: phase %q from %d to %d is out of order: %w", p.Name, p.Start, p.End, ErrInvalid)
		}
		if i > 0 && p.Start != s.Phases[i-1].End {
			return fmt.Errorf("start-up: phase %q begins at %d, and the one before ended at %d: %w", p.Name, p.Start, s.Phases[i-1].End, ErrInvalid)
		}
		order = at
	}
	from, to := s.Phases[0].Start, s.Phases[len(s.Phases)-1].End
	for _, o := range s.Own {
		if o.Start < from || o.End < o.Start || o.End > to || o.Whose != OfTare {
			return fmt.Errorf("start-up: own span %q of %q from %d to %d lies not within %d to %d, or overlaps the one before: %w",
				o.Name, o.Whose, o.Start, o.End, from, to, ErrInvalid)
		}
		from = o.End
	}
	return nil
}

// Traced is an instance whose driver says when it was at work itself after the
// start command, as far as it was not waiting for the platform.
type Traced interface{ Trace() []Span }

// Relaying is an instance whose bytes other processes of the platform's pass on, a
// shim or a client: the way of the greeting through them is the platform's work, of
// which Tare's own waking up cannot be told apart.
type Relaying interface{ Relays() bool }

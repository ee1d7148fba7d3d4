package bench

import (
	"fmt"
	"slices"
)

// Whose says who does the work of a span of a launch.
type Whose string

const (
	// OfPlatform: the runtime, the monitor or the guest kernel.
	OfPlatform Whose = "platform"
	// OfAgent: Tare's agent inside, which in a virtual machine is also the init process.
	OfAgent Whose = "agent"
	// OfTare: this program itself, on the host. A launch by hand has no such work.
	OfTare Whose = "tare"
)

// Span is a stretch of a launch, in nanoseconds of the host's CLOCK_MONOTONIC.
type Span struct {
	Name  string `json:"name"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
	Whose Whose  `json:"whose"`
	// Source says where its start and end times come from.
	Source string `json:"source"`
	// Known bounds the error of either end, in nanoseconds; 0 for stamps of the host's own clock.
	Known int64 `json:"known_ns,omitempty"`
}

// The phases of a launch, in order. A phase that a platform does not have is absent.
const (
	PhaseCreate  = "create"        // the start command, until the guest's kernel or the agent's program runs
	PhaseKernel  = "kernel"        // the guest's kernel, until its init runs
	PhaseInit    = "init"          // the init system, until the agent's program runs
	PhaseAgent   = "agent"         // until the first byte from inside
	PhaseCommand = "first command" // from there to the end of the first command run inside
)

// LaunchPhases lists the names of a launch's phases in order.
var LaunchPhases = []string{PhaseCreate, PhaseKernel, PhaseInit, PhaseAgent, PhaseCommand}

// StartUp is how a launch went.
type StartUp struct {
	// Phases follow each other without a gap, from the start command to the end
	// of the first command or, where none was timed, to the first byte from inside.
	Phases []Span `json:"phases"`
	// Own are the spans in which Tare itself worked in that time, in order and without overlap. A
	// platform may have worked at the same time, so their sum is the most that Tare can have added.
	Own []Span `json:"own"`
}

// OwnTime returns the sum of Tare's own spans, in nanoseconds.
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

// Check returns an error if the spans are not as the comments of [StartUp] say.
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

// Traced is an instance whose driver reports the spans after the start command in which it worked
// itself rather than waited for the platform.
type Traced interface{ Trace() []Span }

// Relaying is an instance whose bytes pass through other processes of the platform, such as a shim
// or a client. The greeting's way through them is the platform's work. Tare's own wake-up cannot be
// told apart from it.
type Relaying interface{ Relays() bool }

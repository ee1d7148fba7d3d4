// Package trace puts the stamps of a launch together: its phases, and when Tare
// itself was at work. It slows no launch, since all it takes is clocks that are
// read anyhow and a list that the kernel writes by itself.
package trace

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/bench"
)

// Stamps are what is known of a launch. Those of the host are nanoseconds of
// its CLOCK_MONOTONIC, those of the instance of its own; 0 is not known.
type Stamps struct {
	Launched int64 // host: right before the start command
	// Init and Executed are of the host, by the kernel's own report: the instance's
	// init, if it has one besides the agent, and the agent's program were executed.
	Init, Executed int64
	// Began, Serving and Sent are the agent's: its first instruction, the end of what
	// it does as the init of a guest, and right before it greeted.
	Began, Serving, Sent int64
	FirstProcess         bool  // the agent is a guest's init
	OwnKernel            bool  // the instance has a kernel of its own
	Offset, Uncertainty  int64 // of the instance's clock against the host's
	Greeted              int64 // host: the first byte from inside
	// Requested, Ended and Returned are the first command's: its request was
	// written, its end was read, and the runner knew.
	Requested, Ended, Returned int64
	Own                        []bench.Span // the driver's own
}

// How the ends of phases are known.
const (
	sourceHost   = "host's clock"
	sourceExec   = "host's clock, by the kernel's report of the agent's execution"
	sourceAgent  = "the agent's clock at its first instruction"
	sourceKernel = "the guest's clock, which begins with its kernel"
	sourceInit   = "host's clock, by the kernel's report of the init's execution"
	sourceGuest  = "the agent's clock"
)

// bound is the end of one phase and the beginning of the next.
type bound struct {
	name   string // of the phase that begins
	whose  bench.Whose
	at     int64
	known  int64
	source string
}

// StartUp puts the stamps together. Stamps that contradict each other by more
// than they are known to are an error.
func (s Stamps) StartUp() (*bench.StartUp, error) {
	offset, known := s.Offset, s.Uncertainty
	if max(offset, -offset) <= known {
		offset, known = 0, 0 // the host's own clock
	}
	bounds := []bound{{bench.PhaseCreate, bench.OfPlatform, s.Launched, 0, sourceHost}}
	began := bound{bench.PhaseAgent, bench.OfAgent, s.Began - offset, known, sourceAgent}
	if s.Executed != 0 {
		began = bound{bench.PhaseAgent, bench.OfAgent, s.Executed, 0, sourceExec}
	}
	if s.OwnKernel && offset != 0 && -offset > s.Launched {
		bounds = append(bounds, bound{bench.PhaseKernel, bench.OfPlatform, -offset, known, sourceKernel})
	}
	switch {
	case s.FirstProcess && s.Began != 0 && s.Serving != 0:
		bounds = append(bounds, bound{bench.PhaseInit, bench.OfAgent, s.Began - offset, known, sourceAgent})
		began.at, began.source = s.Serving-offset, sourceGuest
	case s.Init > s.Launched && s.Init < began.at:
		bounds = append(bounds, bound{bench.PhaseInit, bench.OfPlatform, s.Init, 0, sourceInit})
	}
	if s.Began != 0 || s.Executed != 0 {
		bounds = append(bounds, began)
	}
	bounds = append(bounds, bound{bench.PhaseCommand, bench.OfPlatform, s.Greeted, 0, sourceHost})
	end := s.Greeted
	if s.Returned != 0 {
		end = s.Returned
	} else {
		bounds = bounds[:len(bounds)-1]
	}
	u := &bench.StartUp{}
	for i, b := range bounds {
		last := bound{at: end}
		if b.name != bench.PhaseCommand {
			last.at = s.Greeted
		}
		if i+1 < len(bounds) {
			last = bounds[i+1]
		}
		if last.at+last.known < b.at-b.known {
			return nil, fmt.Errorf("phase %s: it would end at %d and begin at %d, known to %d and %d ns: %w",
				b.name, last.at, b.at, last.known, b.known, bench.ErrInvalid)
		}
		p := bench.Span{Name: b.name, Start: b.at, Whose: b.whose, Source: b.source, Known: max(b.known, last.known)}
		if n := len(u.Phases); n > 0 {
			p.Start = u.Phases[n-1].End
		}
		p.End = max(p.Start, last.at)
		if last.source != b.source && last.source != "" {
			p.Source += "; " + last.source
		}
		u.Phases = append(u.Phases, p)
	}
	u.Own = s.own(offset, known, end)
	return u, u.Check()
}

// own are the driver's spans with the runner's, within the launch, in order and
// without overlap.
func (s Stamps) own(offset, known, end int64) []bench.Span {
	all := slices.Clone(s.Own)
	add := func(name string, from, to, known int64, source string) {
		if from != 0 && to > from {
			all = append(all, bench.Span{Name: name, Start: from, End: to, Whose: bench.OfTare, Source: source, Known: known})
		}
	}
	if s.Sent != 0 {
		// Whatever relays the byte is in it: it cannot be told from our own waking up.
		add("hear the greeting", s.Sent-offset, s.Greeted, known, sourceGuest+"; "+sourceHost)
	}
	add("ask for the first command", s.Greeted, s.Requested, 0, sourceHost)
	add("hear of its end", s.Ended, s.Returned, 0, sourceHost)
	slices.SortStableFunc(all, func(a, b bench.Span) int { return cmp.Compare(a.Start, b.Start) })
	from := s.Launched
	var out []bench.Span
	for _, o := range all {
		o.Start, o.End = max(o.Start, from), min(o.End, end)
		if o.End > o.Start {
			out = append(out, o)
			from = o.End
		}
	}
	return out
}

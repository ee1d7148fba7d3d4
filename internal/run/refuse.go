package run

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
)

// reading is a sample and the instants, by the host's clock, between which it was taken.
type reading struct {
	bench.Sample
	asked, received int64
}

// limits are what bounds the readings of one actor, or of the host.
type limits struct {
	launched  int64 // by the host's clock; 0 for the host
	clock     *bench.ClockFit
	cpus      int // of the host
	inside    int // usable inside the instance; 0 if not known
	ownKernel bool
	wire      float64 // bytes per second and direction; 0 if not known
	memory    float64 // of the host, bytes, its swap space with it; 0 if not known
}

// What a sound reading may be off by.
const (
	// tick is the step in which kernels count CPU time (USER_HZ is 100). A rate
	// has two readings, each off by up to one on every CPU.
	tick = 10 * time.Millisecond
	// rateSlack is relative: twice the 500 ppm two sound clocks may differ by.
	rateSlack = 1e-3
	// mostDisk is what no disk or array of them carries: bytes per second, or operations.
	mostDisk = 1e12
)

// refuse places guest readings on the host's time line and takes out what
// cannot be true: whole samples whose instants are impossible, and single
// values. limit is by actor, "" the host. A counter that has fallen is not
// believed for the rest of the trial: how often it started anew is not known.
//
// A CPU rate is impossible above the number of CPUs, with two ticks for each of
// them and the time the readings took added. Sums over processes may miss one
// that ends until the next reading, so that they may grow in one interval by
// what two hold.
func refuse(rs []reading, limit map[string]limits) ([]bench.Sample, []bench.Refusal) {
	r := refuser{limit: limit, series: map[seriesKey]*series{}}
	for i := range rs {
		r.judge(&rs[i])
	}
	for _, s := range r.series {
		for _, f := range s.fallen {
			if f.after > 0 && f.refusal < len(r.refused) {
				r.refused[f.refusal].What += fmt.Sprintf("; %d later readings of it are refused too", f.after)
			}
		}
	}
	if r.untold > 0 {
		r.last.What = fmt.Sprintf("%d more readings were refused than these %d; the last: %s", r.untold, len(r.refused), r.last.What)
		r.refused = append(r.refused, r.last)
	}
	return r.kept, r.refused
}

// mostRefused is how many refusals of a trial are kept word by word: a guest that
// lies with every value must not make the outcome's line too long to be kept.
const mostRefused = 1000

type seriesKey struct {
	level        bench.Level
	actor, meter string
}

// series is what one source has said so far.
type series struct {
	guest  int64 // the guest's clock at the last reading
	last   map[string]point
	first  map[string]point
	fallen map[string]*fall
}

// point is a value, when it was read, how long that took, and the instant from
// which growth after it may date.
type point struct {
	value          float64
	at, took, from int64
}

// fall is a counter that has fallen.
type fall struct{ refusal, after int }

type refuser struct {
	limit   map[string]limits
	series  map[seriesKey]*series
	kept    []bench.Sample
	refused []bench.Refusal
	untold  int // refusals beyond mostRefused, of which last is one
	last    bench.Refusal
}

func (r *refuser) refuse(x *reading, format string, args ...any) {
	refusal := bench.Refusal{Actor: x.Actor, Level: x.Level, Meter: x.Meter, At: x.At, What: fmt.Sprintf(format, args...)}
	if len(r.refused) == mostRefused {
		r.untold, r.last = r.untold+1, refusal
		return
	}
	r.refused = append(r.refused, refusal)
}

func (r *refuser) judge(x *reading) {
	key := seriesKey{x.Level, x.Actor, x.Meter}
	s := r.series[key]
	if s == nil {
		s = &series{last: map[string]point{}, first: map[string]point{}, fallen: map[string]*fall{}}
		r.series[key] = s
	}
	l := r.limit[x.Actor]
	if why := s.instant(x, &l); why != "" {
		r.refuse(x, "%s", why)
		return
	}
	sound := map[string]float64{}
	for _, c := range slices.Sorted(maps.Keys(x.Values)) {
		v := x.Values[c]
		if f := s.fallen[c]; f != nil {
			f.after++
			continue
		}
		why, fell := s.value(x, &l, c, v)
		if why != "" {
			if fell {
				s.fallen[c] = &fall{refusal: len(r.refused)}
			}
			r.refuse(x, "%s: %s", c, why)
			continue
		}
		sound[c] = v
	}
	if len(sound) > 0 {
		x.Values = sound
		r.kept = append(r.kept, x.Sample)
	}
}

// instant says why a sample cannot have been taken when it says, and otherwise
// places it if it was taken inside.
func (s *series) instant(x *reading, l *limits) string {
	for _, ns := range [...]int64{x.At, x.Late, x.Took, x.CPU, x.Guest} {
		if err := bench.CheckInstant(ns); err != nil {
			return err.Error()
		}
	}
	switch {
	case x.received < x.asked || x.Took < 0:
		return fmt.Sprintf("it was received %d ns before it was asked for", max(x.asked-x.received, -x.Took))
	case x.CPU < 0:
		return fmt.Sprintf("reading it cost %d ns of CPU", x.CPU)
	case x.Late < 0 && x.Level != bench.Guest:
		return fmt.Sprintf("it was read %d ns before it was due", -x.Late)
	case x.asked < l.launched:
		return fmt.Sprintf("it was asked for %d ns before the launch", l.launched-x.asked)
	case x.Level != bench.Guest:
		return ""
	case x.Guest < s.guest:
		return fmt.Sprintf("the instance's clock went back from %d to %d ns", s.guest, x.Guest)
	}
	s.guest = x.Guest
	if l.clock == nil {
		return fmt.Sprintf("the instance's clock, at %d ns, was never compared with the host's", x.Guest)
	}
	if l.clock.Fault != "" {
		return fmt.Sprintf("the instance's clock, at %d ns, cannot be trusted: %s", x.Guest, l.clock.Fault)
	}
	at, bound := l.clock.Host(x.Guest), l.clock.Uncertainty
	switch {
	case at+bound < l.launched:
		return fmt.Sprintf("it is of %d ns before the launch, by a clock known to %d ns", l.launched-at, bound)
	case at+bound < x.asked:
		return fmt.Sprintf("it is of %d ns before it was asked for, by a clock known to %d ns", x.asked-at, bound)
	case at-bound > x.received:
		return fmt.Sprintf("it is of %d ns after it was received, by a clock known to %d ns", at-x.received, bound)
	}
	// It was taken between the two, wherever in its bound the clock puts it.
	x.Late = min(max(at, x.asked), x.received) - x.At
	return ""
}

// betweenBusy is a kernel's busy time too, found as [bench.ColCPUBusy] is.
var betweenBusy = bench.CPUOf(bench.PartBetween)

// held are columns of memory that is somewhere in the host's. Sums over
// processes are not: they count what is shared more than once.
var held = []string{bench.ColMemUsed, bench.ColMemCache, bench.ColMemShared, bench.ColMemCharged, bench.ColSwapUsed}

// value says why a value cannot be true, and whether that is because a counter fell.
func (s *series) value(x *reading, l *limits, column string, v float64) (why string, fell bool) {
	if err := bench.CheckReading(column, v); err != nil {
		return err.Error(), false
	}
	if strings.HasPrefix(column, "mem_") {
		if l.memory > 0 && v > l.memory && slices.Contains(held, column) {
			return fmt.Sprintf("%g bytes are more than the host has: %g with its swap space", v, l.memory), false
		}
		return "", false
	}
	p := point{value: v, at: x.At + x.Late, took: x.Took}
	p.from = p.at
	last, seen := s.last[column]
	isCPU := strings.HasPrefix(column, "cpu_") && column != bench.ColCPUIOWait
	if x.Level == bench.Layer || x.Level == bench.Inner || x.Level == bench.Guest && !l.ownKernel {
		p.from = l.launched
		if seen {
			p.from = last.at
		}
	}
	if !seen {
		s.first[column], s.last[column] = p, p
		return "", false
	}
	cpus := l.cpus
	if x.Level == bench.Guest && l.inside > 0 {
		cpus = l.inside
	}
	// The kernel lets its count of waiting for I/O fall (proc_stat(5)), and what is
	// left when idle time is taken from the clock wavers by the ticks.
	allowed := 0.0
	switch column {
	case bench.ColCPUIOWait:
		allowed = math.Inf(1)
	case bench.ColCPUBusy, bench.ColCPUIdle, betweenBusy:
		allowed = slack(cpus, last, p)
	}
	if v < last.value-allowed {
		return fmt.Sprintf("the counter fell from %g to %g", last.value, v), true
	}
	for _, base := range []point{last, s.first[column]} {
		grown, span := v-base.value, float64(p.at-base.from)/1e9
		if isCPU && cpus > 0 && grown > float64(cpus)*span*(1+rateSlack)+slack(cpus, base, p) {
			return fmt.Sprintf("it grew by %.3f s in %.3f s, of %d CPUs", grown, span, cpus), false
		}
		if l.wire > 0 && (column == bench.ColNetRx || column == bench.ColNetTx) {
			// The edges of the readings let in what the wire carries meanwhile.
			most := l.wire * (span*(1+rateSlack) + float64(base.took+p.took)/1e9)
			if grown > most {
				return fmt.Sprintf("%g bytes in %.3f s are %.3g bytes/s, above the wire's %.3g", grown, span, grown/span, l.wire), false
			}
		}
		if strings.HasPrefix(column, "disk_") && grown > mostDisk*(span+float64(base.took+p.took)/1e9) {
			return fmt.Sprintf("it grew by %g in %.3f s, and no disk carries more than %g in a second", grown, span, mostDisk), false
		}
	}
	p.value = max(v, last.value)
	s.last[column] = p
	return "", false
}

// slack is the CPU time, in seconds, by which the growth between two readings
// may be off: a tick of each CPU at either, and what the CPUs do while it is read.
func slack(cpus int, a, b point) float64 {
	return float64(cpus) * (2*tick.Seconds() + float64(a.took+b.took)/1e9)
}

package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// From which difference on the surroundings of two sides are no longer alike.
const (
	// loadApart is in cores of other work, by the median over the blocks that both
	// have: half a CPU that one side did not get. A single block that is so far
	// apart is said: chance spreads such over both sides, and the interval holds it.
	loadApart = 0.5
	// enoughBlocks is how many blocks can tell one side's load from chance: as many as an interval needs.
	enoughBlocks = stats.MinTested
	// stealApart is in cores taken by the hypervisor below, by the same median;
	// stealSaid in a single block.
	stealApart, stealSaid = 0.25, 0.1
	// swapFloor is what may be swapped out during a launch, in bytes; less is a
	// page that nobody uses.
	swapFloor = 1 << 20
	// clockApart is the relative difference of the CPUs' mean frequencies.
	clockApart = 0.05
	// warmerApart is in thousandths of a degree Celsius.
	warmerApart = 15000
)

func mitigations(p *pair) Check {
	subject, baseline := p.subject.fact("mitigations"), p.baseline.fact("mitigations")
	if len(subject) == 1 && len(baseline) == 1 {
		subject[0], baseline[0] = apartIn(subject[0], baseline[0])
	}
	return p.ofKernel(join(subject), join(baseline),
		"the guest's kernel mitigates otherwise than the host's: system calls differ in cost for that alone",
		"the kernel's mitigations changed between the two sides")
}

// apartIn leaves of two lists of "name: text; name: text" what is not in both,
// or says how much is, if that is all.
func apartIn(a, b string) (onlyA, onlyB string) {
	split := func(list string) (entries []string) {
		// A text may hold semicolons itself; an entry begins with its file's name.
		for part := range strings.SplitSeq(list, "; ") {
			name, _, named := strings.Cut(part, ": ")
			if n := len(entries); n > 0 && (!named || strings.ToLower(name) != name) {
				entries[n-1] += "; " + part
				continue
			}
			entries = append(entries, part)
		}
		return entries
	}
	listA, listB := split(a), split(b)
	without := func(list, other []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(list), func(e string) bool { return slices.Contains(other, e) }), "; ")
	}
	none := func(n int) string { return fmt.Sprintf("nothing beyond the %d in common", n) }
	onlyA, onlyB = without(listA, listB), without(listB, listA)
	switch {
	case onlyA == "" && onlyB == "":
		text := fmt.Sprintf("%d entries, all alike", len(listA))
		return text, text
	case onlyA == "":
		onlyA = none(len(listA))
	case onlyB == "":
		onlyB = none(len(listB))
	}
	return onlyA, onlyB
}

func hugePages(p *pair) Check {
	return p.ofKernel(join(p.subject.fact("thp")), join(p.baseline.fact("thp")),
		"the guest's kernel uses huge pages otherwise than the host's",
		"the use of huge pages changed between the two sides")
}

func clockSource(p *pair) Check {
	return p.fact("clock_source", Differs, "reading the time costs differently; programs that do it often pay for it")
}

// guestClock: no instance's clock was stepped or ran away.
func guestClock(p *pair) Check {
	text := func(s *Side) (said string, fault bool) {
		faults := s.of(func(a *bench.ActorOutcome) string {
			if a.Clock == nil {
				return ""
			}
			return a.Clock.Fault
		})
		followed := s.any(func(a *bench.ActorOutcome) bool { return a.Clock != nil })
		switch {
		case len(faults) > 0:
			return join(faults), true
		case followed:
			return "steady", false
		}
		return "", false
	}
	subject, faulty := text(p.subject)
	baseline, faultyBase := text(p.baseline)
	c := alike(subject, baseline, Same, "")
	if faulty || faultyBase {
		c.State, c.Why = Invalid, "programs take time by that clock, so what they report is off by as much"
	}
	return c
}

// governor is the host's, of the CPUs the subjects ran on.
func governor(p *pair) Check {
	return p.fact(bench.FactHostGovernor, Invalid, "the CPUs' clock was governed otherwise")
}

// frequency compares what the host allowed the CPUs to run at, which is from outside, and what they
// ran at while the programs were measured, which the platform may have made: more work elsewhere,
// wider instructions, heat.
func frequency(p *pair) Check {
	mhz := func(khz float64) string { return fmt.Sprintf("%.0f MHz", khz/1e3) }
	allowed, known := p.subject.mean(bench.FactHostClockAllowed)
	allowedBase, knownBase := p.baseline.mean(bench.FactHostClockAllowed)
	if known && knownBase && farApart(allowed, allowedBase) {
		return Check{State: Invalid, Subject: "at most " + mhz(allowed), Baseline: "at most " + mhz(allowedBase),
			Why: "the host allowed its CPUs another speed"}
	}
	ran, known := p.subject.mean(bench.FactHostClock)
	ranBase, knownBase := p.baseline.mean(bench.FactHostClock)
	if !known || !knownBase {
		if p.subject.Startup {
			return Check{State: Unknown, Why: "the scene has no window over which cycles are counted"}
		}
		return Check{State: Unknown, Why: "the CPUs' cycles could not be counted, by perf's msr events or /dev/cpu/N/msr: nothing is judged by frequency"}
	}
	c := Check{State: Same, Subject: mhz(ran), Baseline: mhz(ranBase)}
	if farApart(ran, ranBase) {
		c.State, c.Caused = Differs, true
		c.Why = "the CPUs ran at different speeds while the programs were measured, though the host allowed the same: what the platform itself did to them is in the ratio"
	}
	return c
}

// farApart: two frequencies are not alike.
func farApart(a, b float64) bool { return max(a, b) > (1+clockApart)*min(a, b) }

func temperature(p *pair) Check {
	subject, known := p.subject.mean(bench.FactHostTemperature)
	baseline, knownBase := p.baseline.mean(bench.FactHostTemperature)
	if !known || !knownBase {
		return Check{State: Unknown, Why: "the host does not tell its temperature"}
	}
	c := Check{State: Same, Subject: fmt.Sprintf("%.0f °C", subject/1e3), Baseline: fmt.Sprintf("%.0f °C", baseline/1e3)}
	if max(subject, baseline)-min(subject, baseline) > warmerApart {
		c.State, c.Why = Differs, "one side ran on a warmer host, which may have throttled it"
	}
	return c
}

// mean averages numeric facts over all launches; of several CPUs all count.
func (s *Side) mean(names ...string) (float64, bool) {
	sum, n := 0.0, 0
	for _, l := range s.Launches {
		for _, a := range l.Actors {
			for _, name := range names {
				for text := range strings.SplitSeq(a.Facts[name], ",") {
					if v, err := strconv.ParseFloat(text, 64); err == nil {
						sum, n = sum+v, n+1
					}
				}
			}
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}

// apart is how far an observation of both sides lies apart.
type apart struct {
	subject, baseline float64 // medians over the blocks that both have
	typical           float64 // median of the differences within a block, without its sign
	widest            float64 // the largest difference in one block
	blocks            int
}

// paired compares an observation block by block.
func (p *pair) paired(of func(*Launch) *float64) apart {
	base := map[int]float64{}
	for i := range p.baseline.Launches {
		if v := of(&p.baseline.Launches[i]); v != nil {
			base[p.baseline.Launches[i].Block] = *v
		}
	}
	var a apart
	var subject, baseline, differences []float64
	for i := range p.subject.Launches {
		v := of(&p.subject.Launches[i])
		b, ok := base[p.subject.Launches[i].Block]
		if v == nil || !ok {
			continue
		}
		subject, baseline, differences = append(subject, *v), append(baseline, b), append(differences, *v-b)
		a.widest = max(a.widest, math.Abs(*v-b))
	}
	if a.blocks = len(differences); a.blocks > 0 {
		a.subject, a.baseline = stats.Median(subject), stats.Median(baseline)
		a.typical = math.Abs(stats.Median(differences))
	}
	return a
}

func (a *apart) check() Check {
	return Check{State: Same, Subject: fmt.Sprintf("%.2f cores", a.subject), Baseline: fmt.Sprintf("%.2f cores", a.baseline)}
}

// unsampled is the check of something that no launch tells.
func (p *pair) unsampled() Check {
	if p.subject.Startup {
		return Check{State: Unknown, Why: "the scene has no window in which meters are read"}
	}
	return Check{State: Unknown, Why: "it was not measured on both sides in any block"}
}

// load judges by what processes outside the run used, where it looked for them. What else kept the
// host busy, in the kernel or in its services, may have worked for the platform: it is said.
func load(p *pair) Check {
	outside := p.paired(func(l *Launch) *float64 {
		switch o := l.Outside; {
		case o == nil:
			return nil
		case o.During != nil:
			return &o.During.CPUs
		default:
			return &o.Before.CPUs
		}
	})
	if outside.blocks == 0 {
		return p.loadOfAll()
	}
	c := outside.check()
	rest := p.paired(func(l *Launch) *float64 {
		if l.Outside == nil || l.Outside.During == nil || l.Load == nil {
			return nil
		}
		v := max(0, *l.Load-l.Outside.During.CPUs)
		return &v
	})
	switch {
	case outside.typical > loadApart && outside.blocks >= enoughBlocks:
		c.State = Invalid
		c.Why = fmt.Sprintf("in most blocks work from outside kept the host busy by %.2f cores more on one side, and took from what was measured", outside.typical)
	case rest.typical > loadApart && rest.blocks >= enoughBlocks:
		c = rest.check()
		c.State, c.Caused = Differs, true
		c.Why = fmt.Sprintf("in most blocks the kernel and the host's services did %.2f cores more of work on one side, and no process from outside did: what they did for the platform is in the ratio", rest.typical)
	case outside.widest > loadApart:
		c.State, c.Why = Differs, oneBlock(&outside)
	}
	return c
}

// loadOfAll judges by all other work, of a run that did not tell whose it was.
func (p *pair) loadOfAll() Check {
	a := p.paired(func(l *Launch) *float64 { return l.Load })
	if a.blocks == 0 {
		return p.unsampled()
	}
	c := a.check()
	switch {
	case a.typical > loadApart && a.blocks >= enoughBlocks:
		c.State = Invalid
		c.Why = fmt.Sprintf("in most blocks other work kept the host busy by %.2f cores more on one side, and took from what was measured", a.typical)
	case a.widest > loadApart:
		c.State, c.Why = Differs, oneBlock(&a)
	}
	return c
}

// oneBlock says that a load was apart in single blocks.
func oneBlock(a *apart) string {
	return fmt.Sprintf("in one block other work on the host was %.2f cores apart: by chance, as far as can be told, and the interval holds such scatter", a.widest)
}

// steal judges by what was taken before the launches, where the run looked for that. A platform that
// asks for more CPU time loses more of it while it runs: that is said.
func steal(p *pair) Check {
	before := p.paired(func(l *Launch) *float64 {
		if l.Outside == nil {
			return nil
		}
		return &l.Outside.Before.Stolen
	})
	a := p.paired(func(l *Launch) *float64 { return l.Steal })
	const taken = "in most blocks the hypervisor below this host took CPU time from one side"
	switch {
	case before.typical > stealApart && before.blocks >= enoughBlocks:
		c := before.check()
		c.State, c.Why = Invalid, taken+", and did so before its launches"
		return c
	case a.blocks == 0 && before.blocks > 0:
		return before.check()
	case a.blocks == 0:
		return p.unsampled()
	}
	c := a.check()
	switch {
	case a.typical > stealApart && a.blocks >= enoughBlocks && before.blocks > 0:
		c.State, c.Caused = Differs, true
		c.Why = taken + " while it was measured, and not before: a platform that asks for more of it loses more, and the ratio has it"
	case a.typical > stealApart && a.blocks >= enoughBlocks:
		c.State, c.Why = Invalid, taken
	case a.widest > stealSaid:
		c.State, c.Why = Differs, "in one block at least, the hypervisor below this host took more CPU time from one side"
	}
	return c
}

// swap: nothing was swapped out while either side was measured.
func swap(p *pair) Check {
	text := func(s *Side) (said string, most float64) {
		known := false
		for _, l := range s.Launches {
			if l.SwappedOut != nil {
				known, most = true, max(most, *l.SwappedOut)
			}
		}
		switch {
		case known && most > swapFloor:
			return bench.Bytes(most).String() + " swapped out in a launch", most
		case known, s.Host != nil && s.Host.Memory > 0 && s.Host.Swap == 0:
			return "nothing swapped out", 0
		}
		return "", 0
	}
	subject, most := text(p.subject)
	baseline, mostBase := text(p.baseline)
	c := alike(subject, baseline, Same, "")
	if max(most, mostBase) > swapFloor {
		c.State, c.Why = Invalid, "memory went to the disk while a launch was measured"
	}
	return c
}

func readiness(p *pair) Check {
	ready := func(s *Side) string { return join(s.fact(bench.FactReady)) }
	if c, ok := ownKernel(p, ready, Differs, "a machine without an agent is up when its server accepts; the case compares no start-up times"); ok && !p.subject.Startup {
		c.Subject, c.Baseline = ready(p.subject), ready(p.baseline)
		return c
	}
	return p.fact(bench.FactReady, Invalid, "the launches ended at different events: start-up times are not of the same thing")
}

// emulation: a label or a caveat says that a side was not measured as a user
// would take it to be.
func emulation(p *pair) Check {
	label := func(s *Side) string {
		labels := s.of(func(a *bench.ActorOutcome) string { return a.Label })
		labels = append(labels, s.of(func(a *bench.ActorOutcome) string { return strings.Join(a.Caveats, "; ") })...)
		if len(labels) > 0 {
			return join(labels)
		}
		return "none"
	}
	subject, baseline := label(p.subject), label(p.baseline)
	why := "what the driver says of one side alone is part of the difference"
	if strings.Contains(subject+baseline, "emulated") {
		why = "an emulated machine is not a finding about virtual machines"
	}
	return alike(subject, baseline, Differs, why)
}

package audit

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/bench"
)

// found is a check of a comparison.
func found(t *testing.T, a Audit, name string) Check {
	t.Helper()
	for _, c := range a.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q", name)
	return Check{}
}

// What a platform does to the host while it runs leaves its ratio, and is said with its cause; the
// same from outside does not.
func TestCausesInsideAndOutside(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Side)
		check string
		state State
		why   string
	}{
		"frequency lowered while it ran":   {fact(bench.FactHostClock, "2100000"), "clock frequency", Differs, "though the host allowed the same"},
		"frequency that was not allowed":   {fact(bench.FactHostClockAllowed, "2100000"), "clock frequency", Invalid, "allowed its CPUs another speed"},
		"cycles that cannot be counted":    {fact(bench.FactHostClock, ""), "clock frequency", Unknown, "nothing is judged by frequency"},
		"readings of idle CPUs":            {fact("host_khz_before", "800000"), "clock frequency", Same, ""},
		"work of the kernel while it ran":  {causes(func(l *Launch) { *l.Load += 0.8 }), "background load", Differs, "no process from outside did"},
		"work of others while it ran":      {causes(func(l *Launch) { *l.Load += 0.8; l.Outside.During.CPUs += 0.8 }), "background load", Invalid, "from outside"},
		"work of others before its launch": {causes(func(l *Launch) { l.Outside = &bench.Outside{Before: bench.OtherWork{CPUs: 0.8}} }), "background load", Invalid, "from outside"},
		"work of nobody knows whom":        {causes(func(l *Launch) { *l.Load += 0.8; l.Outside = nil }), "background load", Same, ""},
		"steal while it ran":               {causes(func(l *Launch) { *l.Steal += 0.4 }), "steal", Differs, "and not before"},
		"steal before its launches":        {causes(func(l *Launch) { l.Outside.Before.Stolen = 0.4 }), "steal", Invalid, "before its launches"},
	} {
		for _, onBaseline := range []bool{false, true} {
			subject, baseline := clean("docker"), clean("native")
			if onBaseline {
				c.spoil(&baseline)
			} else {
				c.spoil(&subject)
			}
			if name == "work of nobody knows whom" { // of an older run, on both sides alike
				causes(func(l *Launch) { *l.Load += 0.8; l.Outside = nil })(map[bool]*Side{true: &subject, false: &baseline}[onBaseline])
			}
			a := Compare(subject, baseline)
			got := found(t, a, c.check)
			if got.State != c.state || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s (on the baseline: %v): %+v, want %s: %s", name, onBaseline, got, c.state, c.why)
			}
			if caused := a.Caused(); (c.state == Differs) != (len(caused) == 1) || (c.state == Invalid) != (len(a.Invalid()) == 1) {
				t.Errorf("%s (on the baseline: %v): caused %+v, invalid %+v", name, onBaseline, caused, a.Invalid())
			}
		}
	}
}

// A run that did not look for outsiders is judged by all other work, as before.
func TestRunThatDidNotLookOutside(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(l *Launch)
		check string
	}{
		"load":  {func(l *Launch) { *l.Load += 0.8 }, "background load"},
		"steal": {func(l *Launch) { *l.Steal += 0.4 }, "steal"},
	} {
		subject, baseline := clean("docker"), clean("native")
		causes(func(l *Launch) { l.Outside = nil })(&subject)
		causes(func(l *Launch) { l.Outside = nil })(&baseline)
		causes(c.spoil)(&subject)
		a := Compare(subject, baseline)
		if bad := a.Invalid(); len(bad) != 1 || bad[0].Name != c.check {
			t.Errorf("%s: %+v", name, bad)
		}
	}
}

// Two sides that are the same are hardly ever refused, however far readings of idle CPUs spread and
// whatever comes and goes on the host: others hold a CPU in one launch of ten, which is repeated. By
// the mean of readings before and after, most pairs were refused.
func TestIdenticalSidesAreNotRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 12))
	const pairs = 2000
	for _, blocks := range []int{3, 5, 10} {
		refused, byReadings := 0, 0
		for range pairs {
			a, b := busySide(r, "docker", blocks), busySide(r, "native", blocks)
			if found := Compare(a, b); len(found.Invalid()) > 0 {
				refused++
			}
			idleA, _ := a.mean("host_khz_before", "host_khz_after")
			idleB, _ := b.mean("host_khz_before", "host_khz_after")
			if farApart(idleA, idleB) {
				byReadings++
			}
		}
		t.Logf("%d blocks: %.2f %% of pairs refused; by readings of idle CPUs it were %.0f %%", blocks, 100*float64(refused)/pairs, 100*float64(byReadings)/pairs)
		if refused*100 >= pairs {
			t.Errorf("%d blocks: %d of %d pairs refused, want less than 1 %%", blocks, refused, pairs)
		}
	}
}

// busySide is a side on a host where others work now and then, and idle CPUs have any frequency.
func busySide(r *rand.Rand, platform string, blocks int) Side {
	s := clean(platform)
	one := s.Launches[0]
	s.Launches = nil
	for block := 1; block <= blocks; block++ {
		l := one
		l.Block, l.Trial = block, fmt.Sprintf("b%02d", block)
		for launch := 0; launch <= bench.DefaultDisturbance.Repeats; launch++ {
			burst := 0.0
			if r.Float64() < 0.1 {
				burst = 1
			}
			steal := 0.05 * r.ExpFloat64()
			load := burst + 0.2*r.ExpFloat64()
			l.Load, l.Steal = &load, &steal
			l.Outside = &bench.Outside{Before: bench.OtherWork{CPUs: 0.05 * r.ExpFloat64()},
				During: &bench.OtherWork{CPUs: burst + 0.05*r.ExpFloat64(), Stolen: steal}}
			if bench.DefaultDisturbance.Of(l.Outside, bench.Steal{}) == "" {
				break
			}
		}
		a := one.Actors[0]
		a.Facts = maps.Clone(a.Facts)
		for _, name := range []string{"host_khz_before", "host_khz_after"} {
			a.Facts[name] = fmt.Sprintf("%.0f", 800e3+r.Float64()*2700e3)
		}
		a.Facts[bench.FactHostClock] = fmt.Sprintf("%.0f", 3e6*(1+0.03*r.NormFloat64()))
		l.Actors = []bench.ActorOutcome{a}
		s.Launches = append(s.Launches, l)
	}
	return s
}

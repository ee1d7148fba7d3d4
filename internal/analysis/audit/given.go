package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// How far the memory in force may lie from the memory planned.
const (
	// limitSlack: a control group rounds its limit to pages, a virtual machine its RAM to its granules.
	limitSlack = 0.02
	// guestKeeps is the share of a virtual machine's RAM that its kernel at least
	// leaves to programs; what it keeps is the platform's cost.
	guestKeeps = 0.6
)

// ownKernel is the check of what a machine without an agent booted and its other side did not: the
// user has set two builds of a server against each other. said is of a side that has the image. ok is
// false where neither side has such a kernel, or both.
func ownKernel(p *pair, said func(*Side) string, state State, why string) (c Check, ok bool) {
	subject, baseline := join(p.subject.fact(bench.FactOwnKernel)), join(p.baseline.fact(bench.FactOwnKernel))
	if (subject == "") == (baseline == "") {
		return Check{}, false
	}
	return Check{State: state, Subject: cmp.Or(subject, said(p.subject)), Baseline: cmp.Or(baseline, said(p.baseline)), Why: why}, true
}

func image(p *pair) Check {
	text := func(s *Side) string {
		t := s.Image
		if inside := s.fact("image"); len(inside) > 0 {
			t = strings.TrimPrefix(t+"; inside "+join(inside), "; ")
		}
		return t
	}
	if c, ok := ownKernel(p, text, Differs, "one side is a kernel of the user's own with the server in it: the ratio is of server, kernel and platform together"); ok {
		return c
	}
	if a, b := join(p.subject.fact(bench.FactOwnKernel)), join(p.baseline.fact(bench.FactOwnKernel)); a != "" {
		return alike(a, b, Invalid, "the two booted different kernels: their ratio compares two systems, not two platforms")
	}
	c := alike(text(p.subject), text(p.baseline), Invalid, "the two ran different images: their ratio compares two systems, not two platforms")
	if c.State == Invalid && p.subject.Image == p.baseline.Image && (len(p.subject.fact("image")) == 0 || len(p.baseline.fact("image")) == 0) {
		c.State, c.Why = Same, "" // of one image, and only one side told what it saw inside
	}
	return c
}

func programs(p *pair) Check {
	text := func(s *Side) string {
		t := listed(s.Programs)
		if inside := s.fact("programs"); len(inside) > 0 {
			t = strings.TrimPrefix(t+"; run: "+join(inside), "; ")
		}
		return t
	}
	if c, ok := ownKernel(p, text, Unknown, "the server of one side is in its kernel: whether both are of one version only its builder knows"); ok {
		return c
	}
	c := alike(text(p.subject), text(p.baseline), Invalid, "the measured programs are not the same: a newer one may simply be faster")
	if c.State == Invalid && listed(p.subject.Programs) == listed(p.baseline.Programs) &&
		(len(p.subject.fact("programs")) == 0 || len(p.baseline.fact("programs")) == 0) {
		c.State, c.Why = Same, ""
	}
	return c
}

// platformVersion must not change from launch to launch of one side.
func platformVersion(p *pair) Check {
	version := func(a *bench.ActorOutcome) string { return a.Version }
	subject, baseline := p.subject.of(version), p.baseline.of(version)
	c := Check{State: Same, Subject: join(subject), Baseline: join(baseline)}
	switch {
	case len(subject) == 0 || len(baseline) == 0:
		c.State, c.Why = Unknown, "it was not recorded"
	case len(subject) > 1 || len(baseline) > 1:
		c.State, c.Why = Invalid, "a platform changed its version during the run: its launches are not of one kind"
	}
	return c
}

func kernel(p *pair) Check {
	release := func(a *bench.ActorOutcome) string { return a.Kernel }
	return p.ofKernel(join(p.subject.of(release)), join(p.baseline.of(release)),
		"a virtual machine brings a kernel of its own: the ratio is of platform and kernel together",
		"a container runs on its host's kernel, so the two were not measured on the same one")
}

func cpusGiven(p *pair) Check {
	text := func(s *Side) string {
		given := s.planned(func(a *bench.Actor) string {
			if a.Shape.CPUs == 0 {
				return ""
			}
			t := strconv.Itoa(a.Shape.CPUs)
			if a.Shape.CPUQuota > 0 {
				t += fmt.Sprintf(", at most %g cores", a.Shape.CPUQuota)
				if a.Shape.CPUPeriod > 0 {
					t += fmt.Sprintf(" by %s", a.Shape.CPUPeriod)
				}
			}
			if a.Shape.CPUWeight > 0 {
				t += fmt.Sprintf(", weight %d", a.Shape.CPUWeight)
			}
			return t
		})
		if len(given) == 0 {
			return ""
		}
		return fmt.Sprintf("%d × %s", len(s.Subjects), join(given))
	}
	return alike(text(p.subject), text(p.baseline), Invalid, "the two were given different amounts of CPU")
}

func cpusUsable(p *pair) Check {
	seen := func(a *bench.ActorOutcome) string {
		if a.CPUsSeen == 0 {
			return ""
		}
		return strconv.Itoa(a.CPUsSeen)
	}
	return alike(join(p.subject.of(seen)), join(p.baseline.of(seen)), Invalid, "programs could use different numbers of CPUs, whatever was given")
}

// placement: both sides on the same CPUs, in each block where both have launches, and, where the
// host's CPUs are seen inside, really kept on them.
func placement(p *pair) Check {
	text := func(s *Side) string {
		return join(s.of(func(a *bench.ActorOutcome) string {
			if len(a.CPUSet) == 0 {
				return ""
			}
			return a.Actor + " on " + cpuList(a.CPUSet)
		}))
	}
	const elsewhere = "the two ran on different CPUs, which may differ in caches, clock and what else runs there"
	c := alike(text(p.subject), text(p.baseline), Invalid, elsewhere)
	if c.State != Unknown {
		c.State, c.Why = Same, ""
		if b := otherPlaces(p); b > 0 {
			c.State, c.Why = Invalid, fmt.Sprintf("in block %d %s", b, elsewhere)
		}
	}
	for _, s := range []*Side{p.subject, p.baseline} {
		loose := s.of(func(a *bench.ActorOutcome) string {
			used := a.Facts["cpus_usable"]
			if own := a.Scope != nil && a.Scope.OwnKernel; own || len(a.CPUSet) == 0 || used == "" || used == cpuList(a.CPUSet) {
				return ""
			}
			return a.Actor + " may run on " + used
		})
		if s.lacks("cpu set") {
			loose = append(loose, "not pinned")
		}
		if len(loose) > 0 {
			c.State = Invalid
			c.Why = s.Platform + " was not kept on its CPUs (" + join(loose) + "): the scheduler decided where it ran"
		}
	}
	return c
}

// otherPlaces is the first block in which the sides ran on different CPUs, 0 if there is none. Sides
// that have no block in common are taken as a whole.
func otherPlaces(p *pair) int {
	all := func(s *Side) map[int]string {
		at := map[int]string{}
		for _, l := range s.Launches {
			for _, a := range l.Actors {
				at[l.Block] += a.Actor + " on " + cpuList(a.CPUSet) + "; "
			}
		}
		return at
	}
	subject, baseline := all(p.subject), all(p.baseline)
	common := false
	for _, b := range slices.Sorted(maps.Keys(subject)) {
		other, ok := baseline[b]
		if common = common || ok; ok && other != subject[b] {
			return b
		}
	}
	if blocks := slices.Sorted(maps.Keys(subject)); !common && len(blocks) > 0 && !slices.Equal(distinct(subject), distinct(baseline)) {
		return blocks[0]
	}
	return 0
}

func distinct(texts map[int]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(texts)))
}

// memoryLimit: the same amount planned, and in force as far as can be seen.
func memoryLimit(p *pair) Check {
	text := func(s *Side) string {
		return join(s.planned(func(a *bench.Actor) string {
			if a.Shape.Memory == 0 {
				return ""
			}
			return a.Shape.Memory.String()
		}))
	}
	c := alike(text(p.subject), text(p.baseline), Invalid, "the two were given different amounts of memory, and with it of page cache")
	if c.State != Same {
		return c
	}
	subject, baseline := p.subject.wrongMemory(), p.baseline.wrongMemory()
	for _, side := range []struct {
		wrong string
		text  *string
	}{{subject, &c.Subject}, {baseline, &c.Baseline}} {
		if side.wrong != "" {
			*side.text += ", " + side.wrong
		}
	}
	switch {
	case subject != baseline:
		c.State, c.Why = Invalid, "the limit was not in force alike on both sides"
	case subject != "":
		c.State, c.Why = Differs, "the limit was not in force, on either side"
	}
	return c
}

// wrongMemory says how the memory in force departs from the plan, or "".
func (s *Side) wrongMemory() string {
	if s.lacks("memory limit") {
		return "not enforced"
	}
	wanted := map[string]bench.Bytes{}
	for _, a := range s.Subjects {
		wanted[a.Name] = a.Shape.Memory
	}
	wrong := s.of(func(a *bench.ActorOutcome) string {
		low, name := 1-limitSlack, bench.FactHostMemoryLimit
		if sc := a.Scope; sc != nil && sc.OwnKernel && sc.Innermost().OwnKernel {
			low, name = guestKeeps, "memory_total"
		}
		text := a.Facts[name]
		n, err := strconv.ParseFloat(text, 64)
		want := float64(wanted[a.Actor])
		switch {
		case text == "max":
			return "no limit found"
		case err != nil || want == 0 || n >= low*want && n <= (1+limitSlack)*want:
			return "" // not read, or as planned
		case n >= 1<<62:
			return "no limit found"
		}
		return bench.Bytes(n).String() + " found"
	})
	return join(wrong)
}

// decisive are the limits that change what a program gets to use.
var decisive = []string{"cpu set", "cpu quota", "cpu weight", "memory limit"}

func enforcement(p *pair) Check {
	text := func(s *Side) string {
		all := s.of(func(a *bench.ActorOutcome) string { return strings.Join(a.Unenforced, ", ") })
		if len(all) == 0 {
			return "everything enforced"
		}
		return "not enforced: " + join(all)
	}
	c := alike(text(p.subject), text(p.baseline), Differs, "a limit that is not enforced on one side was not reached in these workloads, or the other side paid for it alone")
	if i := slices.IndexFunc(decisive, func(limit string) bool { return p.subject.lacks(limit) != p.baseline.lacks(limit) }); i >= 0 {
		c.State, c.Why = Invalid, "only one side was held to its "+decisive[i]
	}
	return c
}

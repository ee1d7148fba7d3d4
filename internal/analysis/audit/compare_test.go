package audit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/host"
)

// clean is one side of a fair comparison of five launches that stress the disk.
func clean(platform string) Side {
	s := Side{
		Platform: platform, Resource: "disk", Image: "sha256:5f2b", Programs: map[string]string{"fio": "3.39"},
		Host:     &host.Facts{Memory: 24 * bench.GiB},
		Subjects: []bench.Actor{{Name: "subject", Shape: bench.Shape{CPUs: 1, Memory: bench.GiB}, CPUSet: []int{1}}},
	}
	for block := 1; block <= 5; block++ {
		load, steal, swapped := 0.1+0.05*float64(block), 0.01, 0.0
		s.Launches = append(s.Launches, Launch{Trial: fmt.Sprintf("b%02d", block), Block: block, Load: &load, Steal: &steal, SwappedOut: &swapped,
			Outside: &bench.Outside{Before: bench.OtherWork{CPUs: 0.05}, During: &bench.OtherWork{CPUs: load / 2}},
			Actors: []bench.ActorOutcome{{
				Actor: "subject", Version: "1", CPUSet: []int{1}, CPUsSeen: 1, Kernel: "6.12.1", Scope: &bench.Scope{},
				Clock: &bench.ClockFit{},
				Facts: map[string]string{
					"image": "/var/lib/dpkg/status 49eb", "programs": "fio 383b", "cpus_usable": "1", "memory_total": "25276510208",
					"scratch_fs": "ext4", "o_direct": "honoured", "network": "eth0 mtu 1500", "limit_nofile": "20000/20000",
					"limit_nproc": "96365/96365", "uid": "0", "capabilities": "1ff", "seccomp": "0", "mitigations": "meltdown: Not affected",
					"thp": "madvise", "clock_source": "tsc", bench.FactReady: "greeting", bench.FactHostMemoryLimit: "1073741824",
					bench.FactHostGovernor: "performance", bench.FactHostClockAllowed: "3500000", bench.FactHostClock: "3010000",
					bench.FactHostTemperature: "50000",
				},
			}}})
	}
	return s
}

// each changes the subject of every launch from the first-th on.
func each(first int, change func(a *bench.ActorOutcome)) func(*Side) {
	return func(s *Side) {
		for i := first; i < len(s.Launches); i++ {
			change(&s.Launches[i].Actors[0])
		}
	}
}

func fact(name, value string) func(*Side) {
	return each(0, func(a *bench.ActorOutcome) { a.Facts[name] = value })
}

// causes changes every launch.
func causes(change func(l *Launch)) func(*Side) {
	return func(s *Side) {
		for i := range s.Launches {
			change(&s.Launches[i])
		}
	}
}

// virtual makes the side a virtual machine as it is when all is well.
func virtual(s *Side) {
	each(0, func(a *bench.ActorOutcome) {
		a.Scope, a.Kernel, a.Facts["memory_total"] = &bench.Scope{OwnKernel: true}, "6.12.48+deb13", "990000000"
		a.Facts["cpus_usable"], a.Facts["mitigations"] = "0", "meltdown: Mitigation: PTI"
		delete(a.Facts, bench.FactHostMemoryLimit)
		a.Launch = []string{"qemu-system-x86_64", "-drive", "if=none,id=scratch,format=raw,file=scratch.raw,cache=none,aio=native"}
	})(s)
}

func TestCleanComparisonsStand(t *testing.T) {
	for name, spoil := range map[string]func(*Side){
		"container":        func(*Side) {},
		"virtual machine":  virtual,
		"emulated machine": func(s *Side) { virtual(s); each(0, func(a *bench.ActorOutcome) { a.Label = "emulated (tcg)" })(s) },
		"nothing known": func(s *Side) {
			*s = Side{Platform: s.Platform, Launches: []Launch{{Block: 1, Actors: []bench.ActorOutcome{{}}}}}
		},
		"fewer capabilities, more files":              func(s *Side) { fact("capabilities", "0")(s); fact("limit_nofile", "1048576/1048576")(s) },
		"one block disturbed":                         func(s *Side) { s.Launches[2].Outside.During.CPUs = 1.7 },
		"work that the platform causes in the kernel": causes(func(l *Launch) { *l.Load += 0.9 }),
		"steal while it runs":                         causes(func(l *Launch) { *l.Steal = 0.4 }),
		"a frequency that it lowers":                  fact(bench.FactHostClock, "2000000"),
	} {
		subject := clean("docker")
		spoil(&subject)
		a := Compare(subject, clean("native"))
		if bad := a.Invalid(); len(bad) > 0 {
			t.Errorf("%s: %+v", name, bad)
		}
		if len(a.Checks) < 15 {
			t.Errorf("%s: only %d checks", name, len(a.Checks))
		}
		for i, c := range a.Checks {
			if c.Name != checks[i].name || c.State == "" || (c.State == Same) != (c.Why == "") {
				t.Errorf("%s: check %+v", name, c)
			}
		}
	}
}

func TestCleanContainerIsSameInEverything(t *testing.T) {
	a := Compare(clean("docker"), clean("native"))
	for _, c := range a.Checks {
		if c.State != Same {
			t.Errorf("%+v", c)
		}
	}
}

// Where CPUs are exchanged from block to block, the two sides of a block are what is compared, also
// if a block of one side is missing.
func TestPlacementByBlock(t *testing.T) {
	in := func(blocks map[int]int) func(*Side) {
		return func(s *Side) {
			s.Launches = slices.Clone(s.Launches)
			for i := range s.Launches {
				l := &s.Launches[i]
				l.Actors = slices.Clone(l.Actors)
				for j := range l.Actors {
					cpu := blocks[l.Block]
					l.Actors[j].CPUSet, l.Actors[j].Facts = []int{cpu}, maps.Clone(l.Actors[j].Facts)
					l.Actors[j].Facts["cpus_usable"] = strconv.Itoa(cpu)
				}
			}
		}
	}
	check := func(subject, baseline Side) Check {
		a := Compare(subject, baseline)
		return a.Checks[slices.IndexFunc(a.Checks, func(c Check) bool { return c.Name == "CPU placement" })]
	}
	subject, baseline := clean("docker"), clean("native")
	in(map[int]int{2: 1})(&subject)
	in(map[int]int{2: 1})(&baseline)
	if c := check(subject, baseline); c.State != Same {
		t.Errorf("exchanged alike: %+v", c)
	}
	short := subject
	short.Launches = slices.DeleteFunc(slices.Clone(subject.Launches), func(l Launch) bool { return l.Block == 2 })
	if c := check(short, baseline); c.State != Same {
		t.Errorf("without block 2: %+v", c)
	}
	other := clean("docker")
	in(map[int]int{1: 1})(&other) // as often on each CPU, but in another block
	if c := check(other, baseline); c.State != Invalid || !strings.Contains(c.Why, "in block 1") {
		t.Errorf("exchanged in other blocks: %+v", c)
	}
}

// Every violation is found by the check that is there for it, on whichever side
// it is, and by that check alone unless others are named.
func TestSeededViolations(t *testing.T) {
	for name, v := range map[string]struct {
		spoil func(*Side)
		by    string
		also  string
	}{
		"another image":                 {func(s *Side) { s.Image = "sha256:0000" }, "image", ""},
		"another image inside":          {fact("image", "/var/lib/dpkg/status 0000"), "image", ""},
		"another version":               {func(s *Side) { s.Programs = map[string]string{"fio": "3.40"} }, "program versions", ""},
		"another program inside":        {fact("programs", "fio 0000"), "program versions", ""},
		"platform upgraded meanwhile":   {each(3, func(a *bench.ActorOutcome) { a.Version = "2" }), "platform version", ""},
		"another kernel in a container": {each(0, func(a *bench.ActorOutcome) { a.Kernel = "5.10.0" }), "kernel", ""},
		"rebooted into another kernel":  {each(3, func(a *bench.ActorOutcome) { a.Kernel = "6.12.2" }), "kernel", ""},
		"more CPUs given":               {func(s *Side) { s.Subjects[0].Shape.CPUs = 2 }, "CPUs given", ""},
		"a quota on one side":           {func(s *Side) { s.Subjects[0].Shape.CPUQuota = 0.5 }, "CPUs given", ""},
		"a disk rate on one side":       {func(s *Side) { s.Subjects[0].Shape.DiskIOPS = 500 }, "disk limit", ""},
		"a CPU that is not usable":      {each(0, func(a *bench.ActorOutcome) { a.CPUsSeen = 2 }), "CPUs usable", ""},
		"not pinned":                    {fact("cpus_usable", "0,1"), "CPU placement", ""},
		"pinning not enforced":          {each(0, func(a *bench.ActorOutcome) { a.Unenforced = []string{"cpu set"} }), "CPU placement", "enforcement"},
		"pinned elsewhere":              {each(0, func(a *bench.ActorOutcome) { a.CPUSet, a.Facts["cpus_usable"] = []int{0}, "0" }), "CPU placement", ""},
		"other memory planned": {func(s *Side) {
			s.Subjects[0].Shape.Memory = 2 * bench.GiB
			fact(bench.FactHostMemoryLimit, "2147483648")(s)
		}, "memory limit", ""},
		"other memory in force":     {fact(bench.FactHostMemoryLimit, "536870912"), "memory limit", ""},
		"no memory limit (v2)":      {fact(bench.FactHostMemoryLimit, "max"), "memory limit", ""},
		"no memory limit (v1)":      {fact(bench.FactHostMemoryLimit, "9223372036854771712"), "memory limit", ""},
		"memory limit not enforced": {each(0, func(a *bench.ActorOutcome) { a.Unenforced = []string{"memory limit"} }), "memory limit", "enforcement"},
		"larger virtual machine":    {func(s *Side) { virtual(s); fact("memory_total", "2147483648")(s) }, "memory limit", ""},
		"quota not enforced":        {each(0, func(a *bench.ActorOutcome) { a.Unenforced = []string{"cpu quota"} }), "enforcement", ""},
		"scratch space in memory":   {fact("scratch_fs", "tmpfs"), "disk path", ""},
		"page cache for O_DIRECT":   {fact("o_direct", "ignored"), "O_DIRECT", ""},
		"O_DIRECT not honoured":     {each(0, func(a *bench.ActorOutcome) { a.Caveats = []string{bench.NoDirect + ": and so on"} }), "O_DIRECT", ""},
		"O_DIRECT refused":          {fact("o_direct", "refused: open: invalid argument"), "O_DIRECT", ""},
		"the host's page cache below a virtual machine": {func(s *Side) {
			virtual(s)
			each(0, func(a *bench.ActorOutcome) {
				a.Launch[2] = strings.Replace(a.Launch[2], "cache=none", "cache=writeback", 1)
			})(s)
		}, "O_DIRECT", ""},
		"longer packets":             {func(s *Side) { s.Resource = "network"; fact("network", "eth0 mtu 9000")(s) }, "network path", ""},
		"few files":                  {fact("limit_nofile", "256/4096"), "open files", ""},
		"mitigations switched off":   {fact("mitigations", "meltdown: Vulnerable"), "mitigations", ""},
		"huge pages switched on":     {each(2, func(a *bench.ActorOutcome) { a.Facts["thp"] = "always" }), "huge pages", ""},
		"guest clock stepped by 1s":  {each(4, func(a *bench.ActorOutcome) { a.Clock = &bench.ClockFit{Fault: "stepped by 1.000 s"} }), "guest clock", ""},
		"another governor":           {each(2, func(a *bench.ActorOutcome) { a.Facts[bench.FactHostGovernor] = "powersave" }), "governor", ""},
		"CPUs that are allowed less": {fact(bench.FactHostClockAllowed, "2000000"), "clock frequency", ""},
		"neighbour started meanwhile": {func(s *Side) {
			for i := 2; i < 5; i++ {
				*s.Launches[i].Load += 0.8
				s.Launches[i].Outside.During.CPUs += 0.8
			}
		}, "background load", ""},
		"neighbour of start-ups": {func(s *Side) {
			for i := range s.Launches {
				s.Launches[i].Outside = &bench.Outside{Before: bench.OtherWork{CPUs: 0.9}}
			}
		}, "background load", ""},
		"CPU stolen before the launches": {func(s *Side) {
			for i := range s.Launches {
				s.Launches[i].Outside.Before.Stolen = 0.4
			}
		}, "steal", ""},
		"swapped out":             {func(s *Side) { *s.Launches[1].SwappedOut = 64 << 20 }, "swap", ""},
		"another readiness event": {fact(bench.FactReady, "login prompt"), "readiness event", ""},
	} {
		for _, onBaseline := range []bool{false, true} {
			subject, baseline := clean("docker"), clean("native")
			// What a case stresses is the same for both.
			if onBaseline {
				v.spoil(&baseline)
				subject.Resource = baseline.Resource
			} else {
				v.spoil(&subject)
				baseline.Resource = subject.Resource
			}
			a := Compare(subject, baseline)
			var names []string
			for _, c := range a.Invalid() {
				names = append(names, c.Name)
				if c.Why == "" {
					t.Errorf("%s: %s does not say why", name, c.Name)
				}
			}
			want := []string{v.by}
			if v.also != "" {
				want = append(want, v.also)
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s (on the baseline: %v): found by %q, want %q", name, onBaseline, names, want)
			}
		}
	}
}

// What is part of a platform is said and does not forbid the comparison.
func TestDifferencesThatAreSaid(t *testing.T) {
	for name, v := range map[string]struct {
		spoil func(*Side)
		by    string
	}{
		"a virtual machine's kernel":         {virtual, "kernel"},
		"its mitigations":                    {virtual, "mitigations"},
		"emulation":                          {each(0, func(a *bench.ActorOutcome) { a.Label = "emulated (tcg)" }), "emulation"},
		"another file system":                {fact("scratch_fs", "overlay"), "disk path"},
		"more open files":                    {fact("limit_nofile", "1048576/1048576"), "open files"},
		"fewer capabilities":                 {fact("capabilities", "0"), "privileges"},
		"disk size not bounded":              {each(0, func(a *bench.ActorOutcome) { a.Unenforced = []string{"disk size"} }), "enforcement"},
		"O_DIRECT where no disk is measured": {func(s *Side) { s.Resource = "cpu"; fact("o_direct", "ignored")(s) }, "O_DIRECT"},
		"a warmer host":                      {fact(bench.FactHostTemperature, "80000"), "temperature"},
	} {
		subject, baseline := clean("docker"), clean("native")
		v.spoil(&subject)
		baseline.Resource = subject.Resource
		a := Compare(subject, baseline)
		i := slices.IndexFunc(a.Checks, func(c Check) bool { return c.Name == v.by })
		if c := a.Checks[i]; c.State != Differs || c.Why == "" || c.Subject == c.Baseline {
			t.Errorf("%s: %+v", name, c)
		}
		if len(a.Invalid()) > 0 {
			t.Errorf("%s: %+v", name, a.Invalid())
		}
	}
}

func TestApartIn(t *testing.T) {
	a, b := apartIn("meltdown: Not affected; spectre_v2: Mitigation: Retpolines; STIBP: disabled", "meltdown: Vulnerable; spectre_v2: Mitigation: Retpolines; STIBP: disabled; tsa: x")
	if a != "meltdown: Not affected" || b != "meltdown: Vulnerable; tsa: x" {
		t.Errorf("%q, %q", a, b)
	}
	if a, b := apartIn("tsa: x", "tsa: x; mds: y"); a != "nothing beyond the 1 in common" || b != "mds: y" {
		t.Errorf("%q, %q", a, b)
	}
	if a, b := apartIn("tsa: x; mds: y", "tsa: x; mds: y"); a != b || a != "2 entries, all alike" {
		t.Errorf("%q, %q", a, b)
	}
}

// Two blocks cannot tell a neighbour from chance.
func TestLoadOfTooFewBlocks(t *testing.T) {
	subject, baseline := clean("docker"), clean("native")
	subject.Launches, baseline.Launches = subject.Launches[:2], baseline.Launches[:2]
	subject.Launches[0].Outside.During.CPUs, subject.Launches[1].Outside.During.CPUs = 2, 2
	if a := Compare(subject, baseline); len(a.Invalid()) > 0 {
		t.Errorf("%+v", a.Invalid())
	}
}

// A start-up is not sampled, which is unknown and no fault.
func TestStartupIsNotSampled(t *testing.T) {
	subject, baseline := clean("docker"), clean("native")
	for _, s := range []*Side{&subject, &baseline} {
		s.Startup = true
		for i := range s.Launches {
			s.Launches[i].Load, s.Launches[i].Steal, s.Launches[i].SwappedOut, s.Launches[i].Outside = nil, nil, nil, nil
		}
	}
	a := Compare(subject, baseline)
	var unknown []string
	for _, c := range a.Checks {
		if c.State == Unknown {
			unknown = append(unknown, c.Name)
		}
	}
	if want := []string{"background load", "steal"}; !slices.Equal(unknown, want) || len(a.Invalid()) > 0 {
		t.Errorf("unknown: %q, want %q; invalid: %v", unknown, want, a.Invalid())
	}
}

// A difference that is the question forbids nothing, is said, and excuses no other.
func TestStudy(t *testing.T) {
	subject, baseline := clean("kvm"), clean("native")
	fact("o_direct", "ignored")(&subject)
	subject.Image = "sha256:0000"
	a := Compare(subject, baseline)
	a.Study([]string{"O_DIRECT", "swap"})
	if found := a.Invalid(); len(found) != 1 || found[0].Name != "image" {
		t.Errorf("invalid: %+v, want the image alone", found)
	}
	for _, c := range a.Checks {
		switch {
		case c.Name == "O_DIRECT" && (c.State != Differs || !strings.Contains(c.Why, "what is studied")):
			t.Errorf("%+v", c)
		case c.Name == "swap" && c.State != Same:
			t.Errorf("a check that found nothing changed: %+v", c)
		}
	}
}

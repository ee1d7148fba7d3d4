package audit

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// filesFloor is the soft limit on open files, the kernel's default
// (INR_OPEN_CUR), below which a program may have to do without.
const filesFloor = 1024

// inMemory are the file systems that are on no disk.
var inMemory = []string{"tmpfs", "ramfs"}

// diskLimit: what of the disk it may have, as planned.
func diskLimit(p *pair) Check {
	text := func(s *Side) string {
		return join(s.planned(func(a *bench.Actor) string {
			switch {
			case a.Shape.CPUs == 0: // planned nothing: a side without a plan
				return ""
			case a.Shape.DiskIOPS == 0 && a.Shape.DiskBandwidth == 0 && a.Shape.DiskWeight == 0:
				return "none"
			}
			var bounds []string
			if n := a.Shape.DiskIOPS; n > 0 {
				bounds = append(bounds, fmt.Sprintf("%d operations/s", n))
			}
			if b := a.Shape.DiskBandwidth; b > 0 {
				bounds = append(bounds, b.String()+"/s")
			}
			if w := a.Shape.DiskWeight; w > 0 {
				bounds = append(bounds, fmt.Sprintf("weight %d", w))
			}
			return strings.Join(bounds, ", ")
		}))
	}
	return alike(text(p.subject), text(p.baseline), Invalid, "the two were given different amounts of the disk")
}

func diskPath(p *pair) Check {
	text := func(s *Side) string {
		fs := s.fact("scratch_fs")
		if modes := s.of(hostCache); len(modes) > 0 {
			fs = append(fs, "image with cache="+join(modes))
		}
		return strings.Join(fs, ", ")
	}
	c := alike(text(p.subject), text(p.baseline), Differs, "the file system is part of the platform's path to the disk, and of its cost")
	lies := func(s *Side) bool {
		return slices.ContainsFunc(s.fact("scratch_fs"), func(fs string) bool { return slices.Contains(inMemory, fs) })
	}
	if p.resource() == "disk" && lies(p.subject) != lies(p.baseline) {
		c.State, c.Why = Invalid, "one side's scratch space is in memory: it never used the disk"
	}
	return c
}

var cacheMode = regexp.MustCompile(`\bid=scratch\b.*\bcache=([a-z]+)`)

// hostCache is how a virtual machine's monitor treats the host's page cache for the scratch disk.
func hostCache(a *bench.ActorOutcome) string {
	for _, arg := range a.Launch {
		if m := cacheMode.FindStringSubmatch(arg); m != nil {
			return m[1]
		}
	}
	return ""
}

// direct: whether direct I/O goes around every page cache on its way to the
// disk, the guest's and the host's.
func direct(p *pair) Check {
	text := func(s *Side) string {
		return join(s.of(func(a *bench.ActorOutcome) string {
			t := a.Facts["o_direct"]
			switch hostCache(a) {
			case "", "none", "directsync":
				if !slices.ContainsFunc(a.Caveats, func(c string) bool { return strings.HasPrefix(c, bench.NoDirect) }) {
					return t
				}
			}
			return strings.TrimPrefix(t+", then through the host's page cache", ", ")
		}))
	}
	if p.resource() == "disk" {
		return alike(text(p.subject), text(p.baseline), Invalid, "one side's direct I/O went through a page cache: it measured memory where the other measured the disk")
	}
	return alike(text(p.subject), text(p.baseline), Differs, "direct I/O is not treated alike; this case does not rest on it")
}

var mtuOf = regexp.MustCompile(`mtu (\d+)`)

func network(p *pair) Check {
	subject, baseline := p.subject.fact("network"), p.baseline.fact("network")
	c := alike(join(subject), join(baseline), Differs, "the devices are part of the platform's path to the network, and of its cost")
	if c.State != Differs {
		return c
	}
	// A native program sees the host's devices; one of them is the one it uses.
	mtus := func(facts []string) map[string]bool {
		set := map[string]bool{}
		for _, m := range mtuOf.FindAllStringSubmatch(strings.Join(facts, ","), -1) {
			set[m[1]] = true
		}
		return set
	}
	a, b := mtus(subject), mtus(baseline)
	if shared := slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(m string) bool { return b[m] }); !shared && p.resource() == "network" {
		c.State, c.Why = Invalid, "packets of one side may be longer than the other's: fewer of them carry the same data"
	}
	return c
}

func openFiles(p *pair) Check {
	c := p.fact("limit_nofile", Differs, "the limits differ, and both are above what these workloads need")
	if c.State == Differs && min(softest(p.subject), softest(p.baseline)) < filesFloor {
		c.State, c.Why = Invalid, "one side may open fewer files than a program usually can: it may have worked with fewer"
	}
	return c
}

// softest is the lowest soft limit on open files of a side.
func softest(s *Side) uint64 {
	low := uint64(1 << 63)
	for _, text := range s.fact("limit_nofile") {
		soft, _, _ := strings.Cut(text, "/")
		if n, err := strconv.ParseUint(soft, 10, 64); err == nil {
			low = min(low, n)
		}
	}
	return low
}

func otherLimits(p *pair) Check {
	text := func(s *Side) string {
		var parts []string
		for _, name := range []string{"nproc", "memlock", "stack"} {
			if t := join(s.fact("limit_" + name)); t != "" {
				parts = append(parts, name+" "+t)
			}
		}
		return strings.Join(parts, ", ")
	}
	return alike(text(p.subject), text(p.baseline), Differs, "limits on processes, locked memory or stack differ; a program that meets one behaves otherwise")
}

func privileges(p *pair) Check {
	text := func(s *Side) string {
		return join(s.of(func(a *bench.ActorOutcome) string {
			if a.Facts["uid"] == "" {
				return ""
			}
			return "uid " + a.Facts["uid"] + ", capabilities " + cmp.Or(a.Facts["capabilities"], "unknown") +
				", seccomp " + cmp.Or(a.Facts["seccomp"], "unknown")
		}))
	}
	return alike(text(p.subject), text(p.baseline), Differs, "fewer capabilities and filtered system calls are what the platform isolates by; filtering is part of its cost")
}

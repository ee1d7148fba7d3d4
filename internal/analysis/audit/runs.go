package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host"
)

// PlatformVersion is the name of a check that others refer to.
const PlatformVersion = "platform version"

// Run is what is known of a whole run.
type Run struct {
	Image, Tare, Agent string
	ImageMade          string // when the host's copy of the image was made, "" if that is not known
	Programs           map[string]string
	ObserverCPUs       []int
	Host               *host.Facts
	Mixed              string // what its trials differ in, "" for nothing
}

// Row is what is known of one metric of one platform in one case of a run.
type Row struct {
	Scene                  *bench.Scene // as planned; nil if it was not
	Version, Label, Kernel string       // of the platform
	Files                  []bench.ProgramFile
	Metric                 bench.Metric
	Resource               string // what the case mainly stresses, such as "disk"
	Host                   *host.Facts
}

// findings collects checks; subject is run B, baseline run A.
type findings []Check

// must adds a check that makes the comparison invalid if the sides differ, and
// may one that is only said.
func (c *findings) must(name, a, b, why string) { c.add(name, a, b, why, Invalid) }
func (c *findings) may(name, a, b, why string)  { c.add(name, a, b, why, Differs) }

func (c *findings) add(name, a, b, why string, ifNot State) {
	check := Check{Name: name, Subject: b, Baseline: a, State: Same}
	switch {
	case unread(a) || unread(b):
		check.State, check.Why = Unknown, "it could not be read on one side or both"
	case a != b:
		check.State, check.Why = ifNot, why
	}
	*c = append(*c, check)
}

// unread says whether a fact is one the host did not tell.
func unread(s string) bool { return s == "" || s == "unknown" || s == "not exposed" }

// CompareRuns looks at what all rows of two runs rest on.
func CompareRuns(a, b Run) []Check {
	var c findings
	fa, fb := a.Host, b.Host
	c.must("image digest", a.Image, b.Image, "other bytes were run: the programs may be what differs")
	c.must("architecture", fa.Arch, fb.Arch, "another kind of machine")
	c.must("processor", fa.CPUModel, fb.CPUModel, "another machine")
	c.must("CPUs", strconv.Itoa(fa.CPUs), strconv.Itoa(fb.CPUs), "another machine, or one with CPUs taken away")
	c.must("cores", strconv.Itoa(fa.Cores), strconv.Itoa(fb.Cores), "another machine")
	c.must("SMT", fa.SMT, fb.SMT, "a CPU that shares its core is another CPU")
	c.must("hypervisor under the host", fa.Hypervisor, fb.Hypervisor, "another machine")
	c.must("mitigations", pairs(fa.Mitigations), pairs(fb.Mitigations), "they change the price of every entry into the kernel")
	c.must("governor", fa.Governor, fb.Governor, "the clock of the CPUs is chosen otherwise")
	c.must("turbo", fa.Turbo, fb.Turbo, "the clock of the CPUs is chosen otherwise")
	c.must("clock source", fa.ClockSource, fb.ClockSource, "reading the time costs otherwise, and measures otherwise")
	c.may("host kernel", fa.Kernel, fb.Kernel, "the ratio includes the difference between two kernels")
	c.may("tare", a.Tare, b.Tare, "the ratio includes whatever changed in how it is measured")
	c.may("agent", a.Agent, b.Agent, "the ratio includes whatever changed in how it is measured")
	c.may("benchmark programs", pairs(a.Programs), pairs(b.Programs), "the programs may be what differs")
	c.may("memory", fa.Memory.String(), fb.Memory.String(), "more or less room for the page cache")
	c.may("swap", fa.Swap.String(), fb.Swap.String(), "memory beyond a limit is swapped out or refused")
	c.may("huge pages", fa.THP, fb.THP, "memory is mapped otherwise")
	c.may("samepage merging", fa.KSM, fb.KSM, "its scanner takes CPU time")
	c.may("address space layout", fa.ASLR, fb.ASLR, "programs lie elsewhere at each start, or at the same addresses in all launches")
	c.may("cgroups", fa.Cgroup, fb.Cgroup, "limits are enforced otherwise")
	c.may("NUMA nodes", strconv.Itoa(fa.NUMANodes), strconv.Itoa(fb.NUMANodes), "memory may lie farther away")
	c.may("boot", fa.BootID, fb.BootID, "the host was started anew in between: its memory is laid out otherwise")
	c.may("copy of the image", a.ImageMade, b.ImageMade, "the image was made anew in between: its files lie elsewhere on the disk")
	c.may("host name", fa.Hostname, fb.Hostname, "it may be another machine of the same make")
	if a.Mixed != "" || b.Mixed != "" {
		c = append(c, Check{Name: "mixed trials", Subject: cmp.Or(b.Mixed, "none"), Baseline: cmp.Or(a.Mixed, "none"), State: Invalid,
			Why: "a run of trials that were measured under different conditions is no one thing to compare"})
	}
	c.may("observer CPUs", cmp.Or(cpuList(a.ObserverCPUs), "none"), cmp.Or(cpuList(b.ObserverCPUs), "none"), "the sampler may share a CPU with what is measured")
	return c
}

// CompareRows looks at what a row of two runs rests on.
func CompareRows(a, b Row) []Check {
	var c findings
	sa, sb := a.Scene, b.Scene
	if sa == nil || sb == nil {
		c.must("scene", present(sa), present(sb), "only one run planned it")
		return c
	}
	c.may(PlatformVersion, a.Version, b.Version, "it may be what one wants to compare")
	if len(a.Files)+len(b.Files) > 0 {
		c.may("platform programs", files(a.Files), files(b.Files), "its programs are not the same files, whatever their versions say")
	}
	c.must("label", cmp.Or(a.Label, "measured for real"), cmp.Or(b.Label, "measured for real"), "one was measured for real, the other not")
	if a.Kernel != "" || b.Kernel != "" {
		c.may("kernel inside", a.Kernel, b.Kernel, "the ratio includes the difference between two kernels")
	}
	c.must("metric", definition(a.Metric), definition(b.Metric), "it is another quantity")
	c.must("timing", timing(sa.Timing), timing(sb.Timing), "warm-up and measured window are part of what is measured")
	c.must("meters", metered(sa), metered(sb), "observing costs something")
	c.must("page cache", cmp.Or(sa.Cache, "as it was"), cmp.Or(sb.Cache, "as it was"), "one launch read from the disk what the other had in memory")
	c.must("conditions", cmp.Or(pairs(sa.Conditions), "none"), cmp.Or(pairs(sb.Conditions), "none"), "the host was set otherwise")
	c.must("memory pool", sa.MemoryPool.String(), sb.MemoryPool.String(), "the instances shared another amount of memory")
	c.must("turns", sa.Turns.String(), sb.Turns.String(), "subject and partner worked in turns of another length")
	c.must("actors", actors(sa), actors(sb), "other instances took part")
	for i := range sa.Actors {
		x := &sa.Actors[i]
		j := slices.IndexFunc(sb.Actors, func(y bench.Actor) bool { return y.Name == x.Name })
		if j < 0 {
			continue // "actors" says so
		}
		y := &sb.Actors[j]
		c.must("shape of "+x.Name, shape(x.Shape), shape(y.Shape), "it was given other resources")
		c.must("workload of "+x.Name, work(x), work(y), "it did other work")
		c.must("number of CPUs of "+x.Name, strconv.Itoa(len(x.CPUSet)), strconv.Itoa(len(y.CPUSet)), "it was given other resources")
		c.may("placement of "+x.Name, cmp.Or(cpuList(x.CPUSet), "none"), cmp.Or(cpuList(y.CPUSet), "none"), "it ran on other CPUs")
	}
	if fa, fb := a.Host, b.Host; a.Resource == "disk" {
		c.must("disk", fa.Filesystem+", "+fa.Disk, fb.Filesystem+", "+fb.Disk, "another file system or device is under test")
	} else {
		c.may("disk", fa.Filesystem+", "+fa.Disk, fb.Filesystem+", "+fb.Disk, "another file system or device is under it")
	}
	return c
}

func present(s *bench.Scene) string {
	if s == nil {
		return "not planned"
	}
	return "planned"
}

func definition(m bench.Metric) string {
	return fmt.Sprintf("%s in %s, %s is better, %s over subjects", m.Name, m.Unit, m.Better, m.Combine)
}

func metered(s *bench.Scene) string {
	if s.Unmetered {
		return "off"
	}
	return "on"
}

func timing(t bench.Timing) string {
	return fmt.Sprintf("warm up %s, measure %s, cool down %s", t.Warmup, t.Measure, t.Cooldown)
}

func actors(s *bench.Scene) string {
	var out []string
	for _, a := range s.Actors {
		out = append(out, fmt.Sprintf("%s (%s, %s)", a.Name, a.Role, a.Platform))
	}
	return strings.Join(out, ", ")
}

func shape(s bench.Shape) string {
	return fmt.Sprintf("%d CPUs, quota %g (by %s), weight %d, memory %s (soft %s, swap %s) of node %s, disk %s (%d operations/s, %s/s, weight %d), %d tasks",
		s.CPUs, s.CPUQuota, s.CPUPeriod, s.CPUWeight, s.Memory, s.MemorySoft, s.Swap, cmp.Or(s.MemoryNodes, "any"), s.Disk, s.DiskIOPS, s.DiskBandwidth, s.DiskWeight, s.Pids)
}

func work(a *bench.Actor) string {
	if a.Workload == "" {
		return "none"
	}
	text := a.Workload
	if a.Part != "" {
		text += " " + a.Part
	}
	if p := pairs(a.Params); p != "" {
		text += " " + p
	}
	return text
}

// files writes programs with path and digest.
func files(list []bench.ProgramFile) string {
	var out []string
	for _, f := range list {
		out = append(out, f.String())
	}
	return strings.Join(out, ", ")
}

// pairs writes a map as name=value in alphabetical order.
func pairs(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}

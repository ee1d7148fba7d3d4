package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tare/internal/bench"
)

// surroundings are the checks of the fairness audit that hold between two
// scenes on one platform, each with the condition that sets it where a
// specification can. What a neighbour may change, such as the clock frequency,
// is part of what is asked and not among them; nor are limits, whose
// differences are said.
var surroundings = map[string]string{
	"image": "", "program versions": "", "platform version": "", "kernel": "", "mitigations": "", "clock source": "",
	"huge pages": "thp", "governor": "governor",
}

// Surroundings leaves of the audit of a scene and the one that it is set against what
// holds no longer between the two although nobody asked for it.
func (a *Audit) Surroundings(sc, alone *bench.Scene) {
	a.Checks = slices.DeleteFunc(a.Checks, func(c Check) bool {
		condition, holds := surroundings[c.Name]
		return !holds || condition != "" && sc.Conditions[condition] != alone.Conditions[condition]
	})
}

// Differences are what the specification has otherwise in a scene than in the
// one that it is set against, besides neighbours and placement:
// "memory 1 GiB for 256 MiB".
func Differences(sc, other *bench.Scene) []string {
	a, b := terms(sc), terms(other)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, both := a[name]; !both {
			a[name] = ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			out = append(out, fmt.Sprintf("%s %s for %s", name, cmp.Or(a[name], "none"), cmp.Or(b[name], "none")))
		}
	}
	return out
}

// terms are what a scene gives its first subject, as text; what is not set is "" or absent.
func terms(sc *bench.Scene) map[string]string {
	t := map[string]string{
		"warm-up": sc.Timing.Warmup.String(), "measuring": sc.Timing.Measure.String(), "cool-down": sc.Timing.Cooldown.String(), "page cache": sc.Cache,
	}
	if sc.MemoryPool > 0 {
		t["memory pool"] = sc.MemoryPool.String()
	}
	if sc.Timing.Deadline > 0 {
		t["deadline"] = sc.Timing.Deadline.String()
	}
	for name, value := range sc.Conditions {
		t["condition "+name] = value
	}
	subjects := slices.DeleteFunc(slices.Clone(sc.Actors), func(a bench.Actor) bool { return a.Role != bench.Subject })
	if len(subjects) == 0 {
		return t
	}
	t["subjects"] = fmt.Sprint(len(subjects))
	if n := sc.Members(); n > 0 {
		t["members"] = fmt.Sprint(n)
	}
	for name, value := range subjects[0].Params {
		t["parameter "+name] = value
	}
	shape := subjects[0].Shape
	if shape.MemoryNodes != "" {
		t["memory nodes"] = shape.MemoryNodes
	}
	for name, value := range map[string]any{
		"CPUs": shape.CPUs, "CPU quota": shape.CPUQuota, "CPU period": shape.CPUPeriod, "CPU weight": shape.CPUWeight,
		"memory": shape.Memory, "soft memory": shape.MemorySoft, "swap": shape.Swap, "disk": shape.Disk,
		"disk operations per second": shape.DiskIOPS, "disk bandwidth": shape.DiskBandwidth, "disk weight": shape.DiskWeight, "tasks": shape.Pids,
	} {
		if text := fmt.Sprint(value); !slices.Contains([]string{"0", "0s", bench.Bytes(0).String()}, text) {
			t[name] = text
		}
	}
	return t
}

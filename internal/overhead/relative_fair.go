package overhead

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/result"
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

// changed audits a scene against the one that it is set against: what holds no
// longer between the two although nobody asked for it; nil if one has no launch.
func (s *study) changed(sc, alone *bench.Scene, observed *observed) *audit.Audit {
	a := s.audit(sc, alone, resourceOf(&result.Case{Kind: sc.Kind, Workload: workloadOf(sc)}), observed)
	if a == nil {
		return nil
	}
	a.Checks = slices.DeleteFunc(a.Checks, func(c audit.Check) bool {
		condition, holds := surroundings[c.Name]
		return !holds || condition != "" && sc.Conditions[condition] != alone.Conditions[condition]
	})
	return a
}

// differences are what the specification has otherwise in a scene than in the
// one that it is set against, besides neighbours and placement:
// "memory 1 GiB for 256 MiB".
func differences(sc, other *bench.Scene) []string {
	a, b := terms(sc), terms(other)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, both := a[name]; !both {
			a[name] = ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			out = append(out, fmt.Sprintf("%s %s for %s", name, said(a[name]), said(b[name])))
		}
	}
	return out
}

func said(text string) string {
	if text == "" {
		return "none"
	}
	return text
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
	for name, value := range subjects[0].Params {
		t["parameter "+name] = value
	}
	shape := subjects[0].Shape
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

// ignored begins the caveat of a platform that enforces no limits.
const ignored = "limits ignored"

// wearing is a platform's label with the caveats that it must wear wherever its
// name is shown.
func wearing(label string, caveats []string) string {
	if !slices.ContainsFunc(caveats, func(c string) bool { return strings.HasPrefix(c, ignored) }) {
		return label
	}
	if label == "" {
		return ignored
	}
	return label + ", " + ignored
}

// caveats are what the launches of scenes found of their subjects that every
// figure of theirs depends on, each once.
func (s *study) caveats(scenes ...*bench.Scene) []string {
	var all []string
	add := func(text string) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, sc := range scenes {
		for _, t := range s.scenes[sc.ID] {
			o := s.last[t.ID]
			if o == nil {
				continue
			}
			for _, a := range o.Actors {
				if a.Role != bench.Subject {
					continue
				}
				for _, c := range a.Caveats {
					add(c)
				}
				for _, limit := range a.Unenforced {
					add("not enforced: " + limit)
				}
			}
		}
	}
	return all
}

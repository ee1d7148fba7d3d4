package run

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent"
	"tare/internal/bench"
)

// readyEvent is what ends a launch, alike for every platform.
const readyEvent = "first byte of the agent's greeting"

// takeFacts asks a subject's agent what the instance looks like from inside. A
// fact that cannot be had is absent, and the audit says unknown: it is no
// reason to fail a trial.
func (x *trial) takeFacts(ctx context.Context, a *actor) {
	q := agent.FactsRequest{Scratch: bench.ScratchDir}
	if w := x.Workloads[a.Workload]; w != nil {
		q.Programs = w.Programs()
	}
	facts, err := a.client.Facts(ctx, q)
	if err != nil {
		x.outcome.Warnings = append(x.outcome.Warnings, fmt.Sprintf("the facts of %s are not known: %v", a.Name, err))
		facts = map[string]string{}
	}
	facts[bench.FactReady] = readyEvent
	if d, ok := a.instance.(bench.Described); ok {
		maps.Copy(facts, d.Facts())
	}
	a.outcome.Facts = facts
	a.note(bench.FactHostSwap, swapSpaces("/proc/swaps"))
	a.note(bench.FactHostGovernor, cpuFiles(a.CPUSet, "scaling_governor"))
	a.note(bench.FactHostClockBefore, cpuFiles(a.CPUSet, "scaling_cur_freq"))
}

// noteHeldUp warns of every actor that was held up by printing faster than is read.
func (x *trial) noteHeldUp() {
	for _, a := range x.actors {
		if p, ok := a.instance.(bench.Printing); ok && p.HeldUp() {
			x.warn("%s was held up: on a console, or through its runtime, it printed as fast as is read at most", a.Name)
		}
	}
}

// takeHostFacts adds what the host tells of a subject once it was measured.
func (a *actor) takeHostFacts() {
	if a.outcome.Facts == nil {
		return
	}
	a.note(bench.FactHostClockAfter, cpuFiles(a.CPUSet, "scaling_cur_freq"))
	a.note(bench.FactHostTemperature, hottest())
	if s := a.outcome.Scope; s != nil && !s.OwnKernel {
		a.note(bench.FactHostMemoryLimit, memoryLimit(s.Cgroups))
	}
}

// note keeps a fact that could be read.
func (a *actor) note(name, value string) {
	if value != "" {
		a.outcome.Facts[name] = value
	}
}

// cpuFiles are the distinct values of a cpufreq file over the CPUs, sorted.
func cpuFiles(cpus []int, file string) string {
	var values []string
	for _, cpu := range cpus {
		if t := word(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file)); t != "" {
			values = append(values, t)
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ",")
}

// hottest is the highest temperature of the host's thermal zones, in thousandths of a degree Celsius.
func hottest() string {
	zones, _ := filepath.Glob("/sys/class/thermal/thermal_zone*/temp") // the pattern is well-formed
	highest, found := 0, false
	for _, z := range zones {
		if n, err := strconv.Atoi(word(z)); err == nil && (!found || n > highest) {
			highest, found = n, true
		}
	}
	if !found {
		return ""
	}
	return strconv.Itoa(highest)
}

// memoryLimit is the limit of an instance's control group as the kernel holds it, in bytes or "max".
func memoryLimit(groups map[string]string) string {
	if dir := groups["memory"]; dir != "" {
		return word(filepath.Join(dir, "memory.limit_in_bytes"))
	}
	if dir := groups["unified"]; dir != "" {
		return word(filepath.Join(dir, "memory.max"))
	}
	return ""
}

// word is the content of a small file without the blanks around it, or "".
func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

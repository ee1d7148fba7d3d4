package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// takeHostFacts adds what the host tells of a subject once it was measured.
func takeHostFacts(a *actor) {
	facts := a.outcome.Facts
	if facts == nil {
		return
	}
	if a.hertz > 0 {
		note(facts, bench.FactHostClock, strconv.FormatFloat(a.hertz/1e3, 'f', 0, 64))
	}
	note(facts, bench.FactHostTemperature, hottest())
	if s := a.outcome.Scope; s != nil && !s.OwnKernel {
		note(facts, bench.FactHostMemoryLimit, memoryLimit(s.Cgroups))
	}
}

// note keeps a fact that could be read.
func note(facts map[string]string, name, value string) {
	if value != "" {
		facts[name] = value
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

// swapSpaces are the host's, with their sizes: "/dev/sda2 8 GiB"; "none" where there are none.
func swapSpaces(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	all, err := proc.ParseSwaps(text)
	if err != nil {
		return ""
	}
	said := "none"
	for i, s := range all {
		if i == 0 {
			said = ""
		} else {
			said += ", "
		}
		said += s.Path + " " + bench.Bytes(s.Size).String()
	}
	return said
}

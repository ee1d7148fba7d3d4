package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

const cpuDir = "/sys/devices/system/cpu/"

// readProcessors counts CPUs, cores, sockets and nodes
// (Documentation/admin-guide/cputopology.rst of the kernel).
func readProcessors(t tree, f *Facts) error {
	info := t.fields("/proc/cpuinfo", ":")
	f.CPUModel = unknown
	for _, key := range []string{"model name", "Model", "cpu model", "CPU implementer"} {
		if info[key] != "" {
			f.CPUModel = info[key]
			break
		}
	}
	online, err := t.cpus(cpuDir + "online")
	if err != nil {
		return fmt.Errorf("CPUs: %w", err)
	}
	f.CPUs = len(online)
	allowed, err := cgroup.ParseCPUList(t.fields("/proc/self/status", ":")["Cpus_allowed_list"])
	if err != nil {
		return fmt.Errorf("usable CPUs: %w", err)
	}
	f.Usable = intersect(allowed, online) // "allowed" names CPUs that could be plugged in
	var problems []error
	if f.Isolated, err = t.cpus(cpuDir + "isolated"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		problems = append(problems, err)
	}

	packages, cores := map[string]bool{}, map[string]bool{}
	for _, cpu := range online {
		dir := fmt.Sprintf("%scpu%d/topology/", cpuDir, cpu)
		packages[t.word(dir+"physical_package_id", "0")] = true
		cores[t.word(dir+"thread_siblings_list", fmt.Sprint(cpu))] = true
	}
	f.Sockets, f.Cores = len(packages), len(cores)

	f.NUMANodes = 1
	nodes, err := t.cpus("/sys/devices/system/node/online")
	if err == nil {
		f.NUMANodes = len(nodes)
	} else if !errors.Is(err, fs.ErrNotExist) {
		problems = append(problems, err)
	}
	for _, node := range nodes {
		cpus, err := t.cpus(fmt.Sprintf("/sys/devices/system/node/node%d/cpulist", node))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
		if cpus = intersect(cpus, f.Usable); len(cpus) > 0 {
			f.NodeCPUs = append(f.NodeCPUs, cpus)
		}
	}
	switch control := t.word(cpuDir+"smt/control", ""); control {
	case "notsupported", "notimplemented":
		f.SMT = "not supported"
	case "on", "off":
		f.SMT = control
	case "forceoff":
		f.SMT = "off"
	case "":
		f.SMT = notExposed
	default:
		f.SMT = control
	}
	return errors.Join(problems...)
}

// readCaches reads the caches of CPU 0 and which CPUs share the last level.
func readCaches(t tree, f *Facts) error {
	f.Caches = map[string]bench.Bytes{}
	level, last := 0, ""
	dir := cpuDir + "cpu0/cache/"
	for _, index := range t.names(dir) {
		if !strings.HasPrefix(index, "index") {
			continue
		}
		n, err := t.number(dir + index + "/level")
		if err != nil {
			return fmt.Errorf("caches: %w", err)
		}
		kind := t.word(dir+index+"/type", "")
		size, err := cacheSize(t.word(dir+index+"/size", ""))
		if err != nil {
			return fmt.Errorf("caches: %s%s/size: %w", dir, index, err)
		}
		name := fmt.Sprintf("L%d", n)
		switch kind {
		case "Data":
			name += "d"
		case "Instruction":
			name += "i"
		}
		f.Caches[name] = size
		if kind != "Instruction" && n > level {
			level, last, f.LLC = n, index, size
		}
	}
	if last == "" {
		return nil // many virtual machines do not expose caches; a caveat says so
	}
	online, err := t.cpus(cpuDir + "online")
	if err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	seen := map[string]bool{}
	for _, cpu := range online {
		shared := t.word(fmt.Sprintf("%scpu%d/cache/%s/shared_cpu_list", cpuDir, cpu, last), fmt.Sprint(cpu))
		if seen[shared] {
			continue
		}
		seen[shared] = true
		group, err := cgroup.ParseCPUList(shared)
		if err != nil {
			return fmt.Errorf("caches: %w", err)
		}
		f.LLCGroups = append(f.LLCGroups, group)
	}
	return nil
}

// readAlike groups the usable cores that can stand in for each other: with as many usable CPUs, in
// one package, node and last-level cache, with the same highest frequency and capacity, and equally
// isolated. Where the kernel does not tell, all are taken to be the same in that.
func readAlike(t tree, f *Facts) error {
	var keys []string
	groups := map[string][][]int{}
	seen := map[int]bool{}
	for _, cpu := range f.Usable {
		if seen[cpu] {
			continue
		}
		dir := fmt.Sprintf("%scpu%d/", cpuDir, cpu)
		siblings, err := cgroup.ParseCPUList(t.word(dir+"topology/thread_siblings_list", fmt.Sprint(cpu)))
		if err != nil {
			return fmt.Errorf("cores: %w", err)
		}
		core := intersect(siblings, f.Usable)
		if !slices.Contains(core, cpu) {
			core = []int{cpu}
		}
		for _, c := range core {
			seen[c] = true
		}
		key := fmt.Sprint(len(core), t.word(dir+"topology/physical_package_id", "0"),
			slices.IndexFunc(f.LLCGroups, func(g []int) bool { return slices.Contains(g, cpu) }),
			slices.DeleteFunc(t.names(dir), func(n string) bool { return !strings.HasPrefix(n, "node") }),
			t.word(dir+"cpufreq/cpuinfo_max_freq", ""), t.word(dir+"cpu_capacity", ""), len(intersect(core, f.Isolated)))
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], core)
	}
	for _, key := range keys {
		if len(groups[key]) > 1 {
			f.AlikeCores = append(f.AlikeCores, groups[key])
		}
	}
	return nil
}

// cacheSize reads "32768K": sysfs writes caches in KiB.
func cacheSize(text string) (bench.Bytes, error) {
	number, ok := strings.CutSuffix(text, "K")
	if !ok {
		return 0, fmt.Errorf("%q is not a size in K", text)
	}
	return bench.ParseBytes(number + "KiB")
}

// LLCOf returns the total size of the last-level caches that the CPUs use. An array must exceed it
// to be in memory. It is 0 if unknown.
func (f *Facts) LLCOf(cpus []int) bench.Bytes {
	var n bench.Bytes
	for _, group := range f.LLCGroups {
		if len(intersect(cpus, group)) > 0 {
			n += f.LLC
		}
	}
	return n
}

// readFrequency reads the CPU frequency settings (Documentation/admin-guide/pm/cpufreq.rst).
func readFrequency(t tree, f *Facts) error {
	var governors []string
	for _, policy := range t.names(cpuDir + "cpufreq") {
		if g := t.word(cpuDir+"cpufreq/"+policy+"/scaling_governor", ""); g != "" && !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
	}
	slices.Sort(governors)
	if f.Governor = strings.Join(governors, ", "); f.Governor == "" {
		f.Governor = notExposed
	}
	f.Turbo = notExposed
	for _, source := range []struct{ file, on string }{
		{"intel_pstate/no_turbo", "0"}, {"cpufreq/boost", "1"},
	} {
		switch value, ok := t.text(cpuDir + source.file); {
		case !ok:
		case value != "0" && value != "1":
			return fmt.Errorf("turbo: %s%s: %q is neither 0 nor 1", cpuDir, source.file, value)
		case value == source.on:
			f.Turbo = "on"
			return nil
		default:
			f.Turbo = "off"
			return nil
		}
	}
	return nil
}

func readMitigations(t tree, f *Facts) error {
	f.Mitigations = map[string]string{}
	for _, name := range t.names(cpuDir + "vulnerabilities") {
		f.Mitigations[name] = t.word(cpuDir+"vulnerabilities/"+name, unknown)
	}
	return nil
}
